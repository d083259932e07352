package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"llmsim-bench/simserver/llm"
)

// chatMessage is one message of the conversation.
type chatMessage struct {
	Role       string      `json:"role"`
	Content    messageText `json:"content"`
	ToolCalls  []toolCall  `json:"tool_calls"`
	ToolCallID string      `json:"tool_call_id"`
}

// messageKeys are the members that a message may have. Beside the fields of
// chatMessage they are those with which clients send an answer back as they got it,
// and are not looked at.
var messageKeys = append(fieldNames(reflect.TypeFor[chatMessage]()),
	"name", "refusal", "audio", "annotations", "function_call", "parsed",
	// other servers', and libraries' that speak to several
	"reasoning", "reasoning_content", "reasoning_details", "thinking_blocks", "images", "prefix", "partial", "tools", "cache_control",
	"provider_specific_fields", "extra_content",
)

// checkMessageKeys refuses what no message has.
func checkMessageKeys(messages []byte) error {
	return elements(messages, func(i int, message []byte) error {
		return members(message, func(key string, value []byte) error {
			name := fmt.Sprintf("messages[%d]", i)
			if key == "function_call" && kindOf(value) != "null" {
				return badField(name+".function_call", "is not simulated: use tool_calls")
			}
			return checkKey(name, key, messageKeys)
		})
	})
}

// toolCall is a call that the assistant made.
type toolCall struct {
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// messageText is a message's content: a string, null, or a list of parts of
// which the text ones count.
type messageText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *messageText) UnmarshalJSON(data []byte) error {
	if data[0] == '"' || data[0] == 'n' {
		return json.Unmarshal(data, (*string)(t))
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if data[0] != '[' || json.Unmarshal(data, &parts) != nil {
		return badField("messages", "content must be a string, null, or an array of {\"type\":\"text\",\"text\":…} parts")
	}
	var b strings.Builder
	for i, p := range parts {
		if p.Type != "text" && p.Type != "refusal" {
			return badField("messages", "content part %d has type %q; only \"text\" is simulated", i, p.Type)
		}
		b.WriteString(p.Text)
		b.WriteString(p.Refusal)
	}
	*t = messageText(b.String())
	return nil
}

func checkMessages(messages []chatMessage) error {
	if len(messages) == 0 {
		return badField("messages", "is missing or empty, must hold at least one message")
	}
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case "system", "developer", "user", "assistant", "tool":
		default:
			return badField(fmt.Sprintf("messages[%d].role", i),
				"%q is unknown, must be system, developer, user, assistant or tool", m.Role)
		}
		if m.Role == "tool" && m.ToolCallID == "" {
			return badField(fmt.Sprintf("messages[%d].tool_call_id", i), "is missing, must be the id of the call that this message answers")
		}
		if len(m.ToolCalls) > 0 && m.Role != "assistant" {
			return badField(fmt.Sprintf("messages[%d].tool_calls", i), "is only for the role assistant, got %s", m.Role)
		}
		for k, call := range m.ToolCalls {
			if call.Type != "function" && call.Type != "" {
				return badField(fmt.Sprintf("messages[%d].tool_calls[%d].type", i, k), "%q is not simulated, must be \"function\"", call.Type)
			}
		}
	}
	return nil
}

// prompt is the messages as the generator counts them: the names and arguments of
// calls are part of the text.
func prompt(messages []chatMessage) []llm.Message {
	said := make([]llm.Message, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		text := string(m.Content)
		for _, call := range m.ToolCalls {
			text += call.Function.Name + call.Function.Arguments
		}
		said = append(said, llm.Message{Role: m.Role, Text: text})
	}
	return said
}

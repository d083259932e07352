package experiments

import (
	_ "embed"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"llmsim-bench/simserver/config"
)

//go:embed base.yml
var baseYAML string

// Model is a test model: the base model, or one that differs from it in one field.
type Model struct {
	// Field is the one that differs, by its path in the model's section of
	// models.yml, such as "scheduler.max_batch_tokens". Empty: none does.
	Field string `json:"field,omitempty"`
	// Value is the field's, as models.yml spells it.
	Value string `json:"value,omitempty"`
}

// base is the model that all experiments share.
var base Model

// changed is the base model with another value of one field.
func changed(field, value string) Model { return Model{field, value} }

func (m Model) String() string {
	if m.Field == "" {
		return "base"
	}
	return fmt.Sprintf("base with %s: %s", m.Field, m.Value)
}

// YAML returns a models.yml with the model alone, on a timeline that runs so many
// times as fast as the wall clock.
func (m Model) YAML(timeScale float64) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal([]byte(baseYAML), &file); err != nil {
		return nil, fmt.Errorf("the base model: %w", err)
	}
	root := file.Content[0]
	if m.Field != "" {
		models := valueOf(root, "models")
		set(models.Content[0], strings.Split(m.Field, "."), m.Value)
	}
	if timeScale != 1 {
		set(root, []string{"time_scale"}, number(timeScale))
	}
	return yaml.Marshal(&file)
}

// Config returns what the model's YAML says.
func (m Model) Config(timeScale float64) (*config.Config, error) {
	data, err := m.YAML(timeScale)
	if err != nil {
		return nil, err
	}
	return config.Parse(m.String(), data)
}

// valueOf returns the value of a key of a section, nil without it.
func valueOf(section *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(section.Content); i += 2 {
		if section.Content[i].Value == key {
			return section.Content[i+1]
		}
	}
	return nil
}

// set gives a field of a section a value, and makes what is missing on the way.
func set(section *yaml.Node, path []string, value string) {
	next := valueOf(section, path[0])
	if next == nil {
		next = &yaml.Node{Kind: yaml.MappingNode}
		section.Content = append(section.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: path[0]}, next)
	}
	if len(path) > 1 {
		set(next, path[1:], value)
		return
	}
	*next = yaml.Node{Kind: yaml.ScalarNode, Value: value}
}

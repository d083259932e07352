package llm

// The encodings cut text into pieces by an expression each. Both are written out
// as scanners that look at a character a bounded number of times, where an
// engine that backtracks needs quadratic time for some texts.

// cl100kEnd returns the end of the piece at start, by
//
//	  '(?i:[sdmt]|ll|ve|re)
//	| [^\r\n\p{L}\p{N}]?+\p{L}++
//	| \p{N}{1,3}+
//	| [ ]?[^\s\p{L}\p{N}]++[\r\n]*+
//	| \s++$ | \s*[\r\n] | \s+(?!\S) | \s
func cl100kEnd(text string, start int) int {
	if n := contraction(text[start:]); n > 0 {
		return start + n
	}
	c, size := classAt(text, start)
	body := start
	if c&(inWord|inNewline) == 0 {
		body += size
	}
	if end := classEnd(text, body, inLetter); end > body {
		return end
	}
	if end := otherEnd(text, start, c, size, false); end > start {
		return end
	}
	if end := classEnd(text, start, inSpace); end == len(text) {
		return end
	}
	return spacesEnd(text, start)
}

// o200kEnd returns the end of the piece at start, by
//
//	  [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	| [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	| \p{N}{1,3}
//	| [ ]?[^\s\p{L}\p{N}]+[\r\n/]*
//	| \s*[\r\n]+ | \s+(?!\S) | \s+
func o200kEnd(text string, start int) int {
	c, size := classAt(text, start)
	if c&(inWord|inNewline) == 0 {
		// The first character may stand before a word. A mark may also be the
		// word, where no lower case follows.
		afterIt := start + size
		end, lower := casedEnd(text, afterIt)
		if !lower && c&inLower != 0 {
			end, _ = casedEnd(text, start)
		}
		if end > afterIt || end > start && c&inLower != 0 {
			return end + contraction(text[end:])
		}
	} else if end, _ := casedEnd(text, start); end > start {
		return end + contraction(text[end:])
	}
	if end := otherEnd(text, start, c, size, true); end > start {
		return end
	}
	return spacesEnd(text, start)
}

// casedEnd returns the end of a word in one case: capitals followed by others,
// at least one of these (lower), else as many capitals as there are. Letters
// without case are both, and so, where no lower case follows, the last of them
// ends the word.
func casedEnd(text string, start int) (end int, lower bool) {
	upper, lastBoth := start, start
	for {
		c, size := classAt(text, upper)
		if c&inUpper == 0 {
			break
		}
		upper += size
		if c&inLower != 0 {
			lastBoth = upper
		}
	}
	if end := classEnd(text, upper, inLower); end > upper {
		return end, true
	}
	if lastBoth > start {
		return lastBoth, true
	}
	return upper, false
}

// otherEnd returns the end of a number or of symbols at start, where the
// character is of class c; start: there are none. Newlines after symbols belong
// to them, and slashes too where they may.
func otherEnd(text string, start int, c class, size int, slashes bool) int {
	switch {
	case c&inInvalid != 0:
		return start + size
	case c&inNumber != 0:
		end := start + size
		for range maxDigits - 1 {
			if c, size := classAt(text, end); c&inNumber != 0 {
				end += size
			}
		}
		return end
	}
	body := start
	if text[start] == ' ' {
		body++
	}
	end := symbolsEnd(text, body)
	if end == body {
		return start
	}
	for end < len(text) && (text[end] == '\r' || text[end] == '\n' || slashes && text[end] == '/') {
		end++
	}
	return end
}

// spacesEnd returns the end of white space at start: its last newline, or the
// end of the text, or before its last character, which starts the next piece,
// unless that is all.
func spacesEnd(text string, start int) int {
	end, last, newline := start, start, start
	for {
		c, size := classAt(text, end)
		if c&inSpace == 0 {
			break
		}
		last, end = end, end+size
		if c&inNewline != 0 {
			newline = end
		}
	}
	switch {
	case newline > start:
		return newline
	case end == len(text) || last == start:
		return end
	}
	return last
}

package bash

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// braces expands {a,b} and {1..3} in a word.
func (s *Shell) braces(word *syntax.Word) []*syntax.Word {
	has := false
	for _, part := range word.Parts {
		if literal, ok := part.(*syntax.Lit); ok && strings.Contains(literal.Value, "{") {
			has = true
		}
	}
	if !has {
		return []*syntax.Word{word}
	}
	copied := &syntax.Word{Parts: append([]syntax.WordPart(nil), word.Parts...)}
	if !syntax.SplitBraces(copied) {
		return []*syntax.Word{word}
	}
	var words []*syntax.Word
	for _, parts := range s.braceParts(copied.Parts) {
		words = append(words, &syntax.Word{Parts: parts})
	}
	return words
}

// braceParts returns each combination, the last brace changing fastest.
func (s *Shell) braceParts(parts []syntax.WordPart) [][]syntax.WordPart {
	results := [][]syntax.WordPart{nil}
	for _, part := range parts {
		brace, ok := part.(*syntax.BraceExp)
		if !ok {
			for i := range results {
				results[i] = append(results[i][:len(results[i]):len(results[i])], part)
			}
			continue
		}
		var choices [][]syntax.WordPart
		if brace.Sequence {
			choices = s.sequence(brace)
		} else {
			for _, element := range brace.Elems {
				choices = append(choices, s.braceParts(element.Parts)...)
			}
		}
		next := make([][]syntax.WordPart, 0, len(results)*len(choices))
		s.checkLength(len(results)*len(choices)*16, "a brace expansion")
		for _, before := range results {
			for _, choice := range choices {
				next = append(next, append(before[:len(before):len(before)], choice...))
			}
		}
		results = next
	}
	return results
}

// sequence is {from..to..step}, of numbers or of letters.
func (s *Shell) sequence(brace *syntax.BraceExp) [][]syntax.WordPart {
	texts := make([]string, len(brace.Elems))
	for i, element := range brace.Elems {
		texts[i] = element.Lit()
	}
	from, err1 := strconv.ParseInt(texts[0], 10, 64)
	to, err2 := strconv.ParseInt(texts[1], 10, 64)
	letters := err1 != nil || err2 != nil
	if letters {
		from, to = int64(texts[0][0]), int64(texts[1][0])
	}
	step := int64(1)
	if len(texts) > 2 {
		step, _ = strconv.ParseInt(texts[2], 10, 64)
		step = max(step, -step)
		if step == 0 {
			step = 1
		}
	}
	width := 0
	for _, text := range texts[:2] {
		digits := strings.TrimPrefix(text, "-")
		if !letters && len(digits) > 1 && digits[0] == '0' {
			width = max(width, len(texts[0]), len(texts[1]))
		}
	}
	count := max(to-from, from-to)/step + 1
	s.checkLength(int(min(count, 1<<40))*16, "a brace expansion")
	var choices [][]syntax.WordPart
	for i := range count {
		n := from + i*step
		if from > to {
			n = from - i*step
		}
		text := string(rune(n))
		if !letters {
			text = padded(n, width)
		}
		choices = append(choices, []syntax.WordPart{&syntax.Lit{Value: text}})
	}
	return choices
}

func padded(n int64, width int) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	if missing := width - len(sign) - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	return sign + text
}

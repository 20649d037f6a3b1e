package commands

import (
	"fmt"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

// change is a run of lines that differ: those of the first file are replaced by those of the second.
type change struct{ a, b, toA, toB int }

func diff(c *call) int {
	for _, flag := range []string{"r", "N", "B"} {
		if c.flags[flag] && flag != "N" {
			return c.Fail(2, "the option -%s is not supported", flag)
		}
	}
	if len(c.args) != 2 {
		return c.Fail(2, "two files are needed")
	}
	read := func(name string) (string, bool) {
		r := c.open(name)
		if r == nil {
			return "", false
		}
		defer r.Close()
		text, err := c.ReadAll(r)
		if err != nil {
			c.failed("%s: %s", name, bash.Reason(err))
			return "", false
		}
		return string(text), true
	}
	x, ok1 := read(c.args[0])
	y, ok2 := read(c.args[1])
	if !ok1 || !ok2 {
		return 2
	}
	if x == y {
		return 0
	}
	if c.flags["q"] && !c.flags["i"] && !c.flags["w"] && !c.flags["b"] {
		c.printf("Files %s and %s differ\n", c.args[0], c.args[1])
		return 1
	}
	a, b := splitLines(x), splitLines(y)
	if len(a)*len(b) > 25_000_000 {
		return c.Fail(2, "the files are too long to compare here: use cmp")
	}
	changes := changesOf(c.compared(a), c.compared(b), c.Tick)
	if len(changes) == 0 {
		return 0
	}
	if c.flags["q"] {
		c.printf("Files %s and %s differ\n", c.args[0], c.args[1])
		return 1
	}
	if c.flags["u"] || c.flags["U"] {
		context := 3
		fmt.Sscanf(c.value("U", "3"), "%d", &context)
		labels := []string{c.args[0] + "\t" + "1970-01-01 00:00:00.000000000 +0000", c.args[1] + "\t" + "1970-01-01 00:00:00.000000000 +0000"}
		copy(labels, c.values["label"])
		c.printf("--- %s\n+++ %s\n", labels[0], labels[1])
		unified(c, a, b, changes, context)
		return 1
	}
	for _, d := range changes {
		c.print(normalHead(d) + "\n")
		for _, line := range a[d.a:d.toA] {
			c.print("< " + withNewline(line))
		}
		if d.a < d.toA && d.b < d.toB {
			c.print("---\n")
		}
		for _, line := range b[d.b:d.toB] {
			c.print("> " + withNewline(line))
		}
	}
	return 1
}

// compared are the lines as -i, -w and -b compare them.
func (c *call) compared(lines []string) []string {
	if !c.flags["i"] && !c.flags["w"] && !c.flags["b"] {
		return lines
	}
	keys := make([]string, len(lines))
	for i, line := range lines {
		switch {
		case c.flags["w"]:
			line = strings.Join(strings.Fields(line), "")
		case c.flags["b"]:
			text := strings.Join(strings.Fields(line), " ")
			if line != "" && strings.IndexByte(" \t", line[0]) >= 0 {
				text = " " + text
			}
			line = text
		}
		if c.flags["i"] {
			line = strings.ToLower(line)
		}
		keys[i] = line
	}
	return keys
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func withNewline(line string) string {
	if strings.HasSuffix(line, "\n") {
		return line
	}
	return line + "\n\\ No newline at end of file\n"
}

// changesOf finds a longest common part with a table, after what both begin and end with.
func changesOf(a, b []string, tick func()) []change {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	n, m := endA-start, endB-start
	table := make([][]int32, n+1)
	for i := range table {
		table[i] = make([]int32, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		tick()
		for j := m - 1; j >= 0; j-- {
			if a[start+i] == b[start+j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	var changes []change
	add := func(i, j, toI, toJ int) {
		if last := len(changes) - 1; last >= 0 && changes[last].toA == start+i && changes[last].toB == start+j {
			changes[last].toA, changes[last].toB = start+toI, start+toJ
			return
		}
		changes = append(changes, change{start + i, start + j, start + toI, start + toJ})
	}
	i, j := 0, 0
	for i < n || j < m {
		switch {
		case i < n && j < m && a[start+i] == b[start+j]:
			i++
			j++
		case i < n && (j == m || table[i+1][j] >= table[i][j+1]):
			add(i, j, i+1, j)
			i++
		default:
			add(i, j, i, j+1)
			j++
		}
	}
	return changes
}

func normalHead(d change) string {
	span := func(from, to int) string {
		if to-from <= 1 {
			return fmt.Sprint(max(from+1, to))
		}
		return fmt.Sprintf("%d,%d", from+1, to)
	}
	switch {
	case d.a == d.toA:
		return fmt.Sprintf("%da%s", d.a, span(d.b, d.toB))
	case d.b == d.toB:
		return fmt.Sprintf("%sd%d", span(d.a, d.toA), d.b)
	}
	return span(d.a, d.toA) + "c" + span(d.b, d.toB)
}

func unified(c *call, a, b []string, changes []change, context int) {
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].a-changes[n-1].toA <= 2*context {
			n++
		}
		hunk := changes[:n]
		changes = changes[n:]
		fromA, toA := max(0, hunk[0].a-context), min(len(a), hunk[n-1].toA+context)
		fromB, toB := max(0, hunk[0].b-context), min(len(b), hunk[n-1].toB+context)
		span := func(from, to int) string {
			switch to - from {
			case 1:
				return fmt.Sprint(from + 1)
			case 0:
				return fmt.Sprintf("%d,0", from)
			}
			return fmt.Sprintf("%d,%d", from+1, to-from)
		}
		c.printf("@@ -%s +%s @@\n", span(fromA, toA), span(fromB, toB))
		at := fromA
		for _, d := range hunk {
			for _, line := range a[at:d.a] {
				c.print(" " + withNewline(line))
			}
			for _, line := range a[d.a:d.toA] {
				c.print("-" + withNewline(line))
			}
			for _, line := range b[d.b:d.toB] {
				c.print("+" + withNewline(line))
			}
			at = d.toA
		}
		for _, line := range a[at:toA] {
			c.print(" " + withNewline(line))
		}
	}
}

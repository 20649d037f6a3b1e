package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The field and the annotation with the schedule as one text. The annotation keeps a text that is not just five fields
// with one blank between. The text comes back as it was, unless the fields changed in the meantime.
const specText = "cronSpec"

// The fields of v1, in the order of the text.
var scheduleFields = []string{"minute", "hour", "dayOfMonth", "month", "dayOfWeek"}

// What shorthands stand for.
var shorthands = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// split makes `spec.schedule` of `spec.cronSpec`.
func (c crontab) split() error {
	spec := c.spec()
	value, found := spec[specText]
	if !found {
		return nil
	}
	text, ok := value.(string)
	if !ok {
		return errors.New("spec.cronSpec is no text")
	}
	parts, err := partsOf(text)
	if err != nil {
		return err
	}
	schedule := map[string]any{}
	for i, name := range scheduleFields {
		schedule[name] = parts[i]
	}
	delete(spec, specText)
	spec["schedule"] = schedule
	if strings.Join(parts, " ") != text {
		c.annotate(specText, text)
	}
	return nil
}

// join makes `spec.cronSpec` of `spec.schedule`. A field that is not set is `*`.
func (c crontab) join() {
	spec := c.spec()
	if _, found := spec["schedule"]; !found {
		return
	}
	joined := make([]string, len(scheduleFields))
	for i, name := range scheduleFields {
		if joined[i] = c.Text("spec", "schedule", name); joined[i] == "" {
			joined[i] = "*"
		}
	}
	delete(spec, "schedule")
	text := c.take(specText)
	if parts, err := partsOf(text); err != nil || !slices.Equal(parts, joined) {
		text = strings.Join(joined, " ")
	}
	spec[specText] = text
}

func partsOf(text string) ([]string, error) {
	long, short := shorthands[strings.TrimSpace(text)]
	if !short {
		long = text
	}
	parts := strings.Fields(long)
	if len(parts) != len(scheduleFields) {
		return nil, fmt.Errorf("the schedule %q needs five fields, or a shorthand like @hourly", text)
	}
	return parts, nil
}

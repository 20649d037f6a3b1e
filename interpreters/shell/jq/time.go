package jq

import (
	"math"
	"strings"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

// brokenDown is a time as jq's gmtime gives it: year, month from 0, day, hours, minutes, seconds, weekday, day of the year.
func brokenDown(seconds float64) []any {
	whole := math.Floor(seconds)
	t := time.Unix(int64(whole), 0).UTC()
	return []any{float64(t.Year()), float64(t.Month() - 1), float64(t.Day()), float64(t.Hour()), float64(t.Minute()), float64(t.Second()) + seconds - whole, float64(t.Weekday()), float64(t.YearDay() - 1)}
}

func gmtime(_ *evaluator, in any, _ []any) (any, error) {
	n, ok := plain(in).(float64)
	if !ok {
		return nil, failf("gmtime() requires a number")
	}
	return brokenDown(n), nil
}

func timeOf(v any) (time.Time, bool) {
	list, ok := v.([]any)
	if !ok || len(list) < 6 {
		return time.Time{}, false
	}
	var n [6]int
	for i := range n {
		f, ok := plain(list[i]).(float64)
		if !ok {
			return time.Time{}, false
		}
		n[i] = int(f)
	}
	return time.Date(n[0], time.Month(n[1]+1), n[2], n[3], n[4], n[5], 0, time.UTC), true
}

func mktime(_ *evaluator, in any, _ []any) (any, error) {
	t, ok := timeOf(in)
	if !ok {
		return nil, failf("mktime requires array of 6 numbers")
	}
	return float64(t.Unix()), nil
}

func strftime(_ *evaluator, in any, args []any) (any, error) {
	if n, ok := plain(in).(float64); ok {
		in = brokenDown(n)
	}
	t, ok := timeOf(in)
	if !ok {
		return nil, failf("strftime/1 requires parsed datetime inputs")
	}
	format, ok := args[0].(string)
	if !ok {
		return nil, failf("strftime/1 requires a string format")
	}
	return bash.Strftime(format, t), nil
}

var layouts = strings.NewReplacer("%Y", "2006", "%m", "01", "%d", "02", "%H", "15", "%M", "04", "%S", "05", "%Z", "MST", "%z", "-0700", "%b", "Jan",
	"%B", "January", "%a", "Mon", "%A", "Monday", "%e", "_2", "%y", "06", "%T", "15:04:05", "%F", "2006-01-02", "%j", "002", "%p", "PM", "%I", "03", "%D", "01/02/06", "%R", "15:04", "%%", "%")

func strptime(_ *evaluator, in any, args []any) (any, error) {
	text, ok := in.(string)
	if !ok {
		return nil, failf("strptime/1 requires string inputs and arguments")
	}
	format, ok := args[0].(string)
	if !ok {
		return nil, failf("strptime/1 requires string inputs and arguments")
	}
	t, err := time.Parse(layouts.Replace(format), text)
	if err != nil {
		return nil, failf("date \"%s\" does not match format \"%s\"", text, format)
	}
	_, zone := t.Zone()
	return brokenDown(float64(t.Unix() + int64(zone))), nil
}

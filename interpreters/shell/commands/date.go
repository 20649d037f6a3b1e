package commands

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

func init() {
	define("date", spec{short: "ud:I:Rr:s:", long: map[string]string{"utc": "u", "universal": "u", "date": "d", "rfc-email": "R", "iso-8601": "iso", "rfc-3339:": "", "reference": "r", "set": "s"}}, 1, date)
	// -I has an optional value, which is attached.
	inner := all["date"]
	all["date"] = func(p *bash.Process) int {
		for i, arg := range p.Args {
			if i > 0 && strings.HasPrefix(arg, "-I") {
				p.Args[i] = "--rfc-3339=I" + arg[2:]
			}
			if i > 0 && strings.HasPrefix(arg, "--iso-8601") {
				p.Args[i] = "--rfc-3339=I" + strings.TrimPrefix(strings.TrimPrefix(arg, "--iso-8601"), "=")
			}
		}
		return inner(p)
	}
}

func date(c *call) int {
	if c.flags["s"] {
		return c.Fail(1, "a hook cannot set the clock")
	}
	if zone := c.Getenv("TZ"); !c.flags["u"] && !bash.IsUTC(zone) {
		return c.Fail(1, "TZ=%s: only UTC is supported", zone)
	}
	now := c.World.Now().UTC()
	at := now
	if c.flags["r"] {
		info, err := c.stat(c.value("r", ""))
		if err != nil {
			return c.Fail(1, "%s: %s", c.value("r", ""), bash.Reason(err))
		}
		at = info.ModTime().UTC()
	}
	if c.flags["d"] {
		parsed, err := parseDate(c.value("d", ""), now)
		if err != nil {
			return c.Fail(1, "%s", err)
		}
		at = parsed
	}
	format := "%a %b %e %H:%M:%S %Z %Y"
	switch style := c.value("rfc-3339", ""); {
	case c.flags["R"]:
		format = "%a, %d %b %Y %H:%M:%S %z"
	case style == "date" || style == "I" || style == "Idate":
		format = "%F"
	case style == "seconds":
		format = "%F %T%:z"
	case style == "ns":
		format = "%F %T.%N%:z"
	case style == "Iseconds":
		format = "%FT%T%:z"
	case style == "Iminutes":
		format = "%FT%H:%M%:z"
	case style == "Ihours":
		format = "%FT%H%:z"
	case style == "Ins":
		format = "%FT%T,%N%:z"
	case style != "":
		return c.Fail(1, "invalid argument '%s'", style)
	}
	for _, arg := range c.args {
		if !strings.HasPrefix(arg, "+") {
			return c.Fail(1, "invalid date '%s'", arg)
		}
		format = arg[1:]
	}
	c.print(bash.Strftime(format, at.UTC()) + "\n")
	return 0
}

var (
	isoDate  = regexp.MustCompile(`^(\d{4})-(\d{1,2})-(\d{1,2})`)
	clock    = regexp.MustCompile(`^[Tt ]?\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?`)
	zone     = regexp.MustCompile(`^\s*(?:(Z|z|UTC|GMT)\b|([+-])\s*(\d+)(?::?(\d{2}))?)`)
	relative = regexp.MustCompile(`^\s*([+-]?\s*\d+|next|last|a|an)?\s*(sec|second|min|minute|hour|day|week|fortnight|month|year)s?(\s+ago)?\b`)
)

// parseDate reads the dates that scripts give to date -d: @seconds, ISO dates, and relative ones.
func parseDate(text string, now time.Time) (time.Time, error) {
	invalid := fmt.Errorf("invalid date '%s'", text)
	rest := strings.TrimSpace(text)
	if seconds, ok := strings.CutPrefix(rest, "@"); ok {
		whole, fraction, _ := strings.Cut(seconds, ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil {
			return now, invalid
		}
		nanos, _ := strconv.Atoi((fraction + "000000000")[:9])
		return time.Unix(n, int64(nanos)).UTC(), nil
	}
	at := now
	number := func(text string) int { n, _ := strconv.Atoi(text); return n }
	for _, layout := range []string{time.RFC1123Z, time.RFC1123, "Mon Jan _2 15:04:05 MST 2006", "02 Jan 2006 15:04:05", "2 Jan 2006", "Jan 2 2006", "Jan _2 15:04:05 2006", "Jan 2 15:04:05 2006 MST", "1/2/2006", "1/2/2006 15:04", "1/2/2006 15:04:05", "20060102", "20060102 15:04", "2006-01-02 3:04:05 PM", "2006-01-02 3:04 PM"} {
		if t, err := time.Parse(layout, rest); err == nil {
			return t.UTC(), nil
		}
	}
	if m := isoDate.FindStringSubmatch(rest); m != nil {
		month, day := number(m[2]), number(m[3])
		at = time.Date(number(m[1]), time.Month(month), day, 0, 0, 0, 0, time.UTC)
		if int(at.Month()) != month || at.Day() != day {
			return now, invalid
		}
		rest = rest[len(m[0]):]
	}
	for rest != "" {
		trimmed := strings.TrimLeft(rest, " \t,")
		lower := strings.ToLower(trimmed)
		word, _, _ := strings.Cut(lower, " ")
		midnight := func(days int) {
			at = time.Date(at.Year(), at.Month(), at.Day()+days, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
		}
		if m := clock.FindStringSubmatch(rest); m != nil && number(m[1]) < 24 && number(m[2]) < 60 && number(m[3]) < 61 {
			nanos := number((m[4] + "000000000")[:9])
			at = time.Date(at.Year(), at.Month(), at.Day(), number(m[1]), number(m[2]), number(m[3]), nanos, time.UTC)
			rest = rest[len(m[0]):]
			// A signed number after a time is a zone, also before a unit, as in `10:00 +1 day`.
			if z := zone.FindStringSubmatch(rest); z != nil {
				distance, ok := offset(z[2], z[3], z[4])
				if !ok {
					return now, invalid
				}
				at = at.Add(-distance)
				rest = rest[len(z[0]):]
			}
			continue
		}
		switch word {
		case "":
			return at, nil
		case "now", "today":
			rest = trimmed[len(word):]
			continue
		case "yesterday":
			midnight(-1)
			rest = trimmed[len(word):]
			continue
		case "tomorrow":
			midnight(1)
			rest = trimmed[len(word):]
			continue
		case "midnight":
			at = time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
			rest = trimmed[len(word):]
			continue
		case "utc", "gmt", "z":
			rest = trimmed[len(word):]
			continue
		}
		m := relative.FindStringSubmatch(lower)
		if m == nil {
			return now, invalid
		}
		n := 1
		switch count := strings.ReplaceAll(m[1], " ", ""); count {
		case "", "next", "a", "an":
		case "last":
			n = -1
		default:
			n = number(count)
		}
		if m[3] != "" {
			n = -n
		}
		at = shift(at, m[2], n)
		rest = trimmed[len(m[0]):]
	}
	return at, nil
}

func shift(at time.Time, unit string, n int) time.Time {
	switch unit {
	case "sec", "second":
		return at.Add(time.Duration(n) * time.Second)
	case "min", "minute":
		return at.Add(time.Duration(n) * time.Minute)
	case "hour":
		return at.Add(time.Duration(n) * time.Hour)
	case "day":
		return at.AddDate(0, 0, n)
	case "week":
		return at.AddDate(0, 0, 7*n)
	case "fortnight":
		return at.AddDate(0, 0, 14*n)
	case "month":
		return at.AddDate(0, n, 0)
	}
	return at.AddDate(n, 0, 0)
}

// offset is the distance of a zone from UTC.
func offset(sign, digits, minutes string) (time.Duration, bool) {
	if sign == "" {
		return 0, true
	}
	if minutes == "" && len(digits) == 4 {
		digits, minutes = digits[:2], digits[2:]
	}
	h, _ := strconv.Atoi(digits)
	m, _ := strconv.Atoi(minutes)
	if len(digits) > 2 || h > 24 || m > 59 {
		return 0, false
	}
	d := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if sign == "-" {
		d = -d
	}
	return d, true
}

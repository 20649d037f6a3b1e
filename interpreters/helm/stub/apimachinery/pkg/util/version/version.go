// Package version has what Helm's engine calls of the package with this name.
package version

import (
	"fmt"
	"strconv"
	"strings"
)

// Version has two numbers or more.
type Version struct{ parts []uint }

// ParseGeneric reads `1.31`, `v1.31.4` and `v1.31.4-gke.100`, without what follows the numbers.
func ParseGeneric(text string) (*Version, error) {
	rest := strings.TrimPrefix(strings.TrimSpace(text), "v")
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		rest = rest[:end]
	}
	version := &Version{}
	for part := range strings.SplitSeq(strings.TrimRight(rest, "."), ".") {
		number, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("could not parse %q as version", text)
		}
		version.parts = append(version.parts, uint(number))
	}
	if len(version.parts) < 2 {
		return nil, fmt.Errorf("illegal version string %q", text)
	}
	return version, nil
}

// Major is the first number.
func (v *Version) Major() uint { return v.parts[0] }

// Minor is the second one.
func (v *Version) Minor() uint { return v.parts[1] }

func (v *Version) String() string {
	texts := make([]string, len(v.parts))
	for i, part := range v.parts {
		texts[i] = strconv.FormatUint(uint64(part), 10)
	}
	return strings.Join(texts, ".")
}

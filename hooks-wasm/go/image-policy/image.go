package main

import "strings"

// fullName is an image with its registry: `nginx` is `docker.io/library/nginx`.
func fullName(image string) string {
	host, _, path := strings.Cut(image, "/")
	switch {
	case !path:
		return "docker.io/library/" + image
	case strings.ContainsAny(host, ".:") || host == "localhost":
		return image
	default:
		return "docker.io/" + image
	}
}

// isAllowed tells whether one of the places allows the image. A place is a registry, a registry and the beginning of a
// path, or `*`; what follows `#` is a comment.
func isAllowed(image, places string) bool {
	name := fullName(image)
	for line := range strings.Lines(places) {
		place, _, _ := strings.Cut(line, "#")
		place = strings.TrimRight(strings.TrimSpace(place), "/")
		if place == "*" {
			return true
		}
		rest, found := strings.CutPrefix(name, place)
		if place != "" && found && ends(place, rest) {
			return true
		}
	}
	return false
}

// ends tells whether a place ends where the rest of an image begins. A colon behind a registry begins its port, one behind
// a path a tag.
func ends(place, rest string) bool {
	if rest == "" || rest[0] == '/' {
		return true
	}
	return strings.Contains(place, "/") && (rest[0] == '@' || rest[0] == ':')
}

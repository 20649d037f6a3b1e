package main

import "testing"

func TestPlacesAllowWhatLiesInThem(t *testing.T) {
	for _, test := range []struct {
		image, places string
		allowed       bool
	}{
		{"nginx", "docker.io", true},
		{"nginx", "docker.io/library/nginx # ours", true},
		{"nginx:1", "docker.io/library/nginx", true},
		{"nginx-evil", "docker.io/library/nginx", false},
		{"registry.example.com:5000/a", "registry.example.com", false},
		{"registry.example.com:5000/a", "registry.example.com:5000", true},
		{"registry.example.com.evil/a", "registry.example.com", false},
		{"localhost/a", "localhost/", true},
		{"anything", "\n*", true},
		{"anything", "# *", false},
		{"anything", "", false},
	} {
		if allowed := isAllowed(test.image, test.places); allowed != test.allowed {
			t.Errorf("%s in %q: %v", test.image, test.places, allowed)
		}
	}
}

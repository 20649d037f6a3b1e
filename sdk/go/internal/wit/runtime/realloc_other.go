//go:build !wasip1

package runtime

// Enter does nothing: outside a component there is no host.
func Enter() {}

// Leave does nothing.
func Leave() {}

//go:build !wasip1

package outbound

func send(*request) (*response, *Error) {
	return nil, &Error{Message: "there is no host outside a component: test what sends requests with a Transport of your own, or with `boathook test`"}
}

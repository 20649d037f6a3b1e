package kube

import (
	"encoding/json"
	"fmt"
)

// JSON is a value as its text; empty where there is none.
type JSON string

// DataError is a text that can't be read as what it was wanted as, or a value that JSON does not have. Repeating the run
// does not help.
type DataError struct {
	what string
	err  error
}

// Into reads the value as encoding/json does, into a pointer to any type.
func (j JSON) Into(into any) error {
	if j == "" {
		return &DataError{"there is no value", nil}
	}
	if err := json.Unmarshal([]byte(j), into); err != nil {
		return &DataError{fmt.Sprintf("can't read a %T", into), err}
	}
	return nil
}

// Object reads the value as an object of any kind.
func (j JSON) Object() (Object, error) {
	var object Object
	return object, j.Into(&object)
}

// MarshalJSON is the text itself.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

func (e *DataError) Error() string {
	if e.err == nil {
		return e.what
	}
	return e.what + ": " + e.err.Error()
}

// Unwrap is what encoding/json says.
func (e *DataError) Unwrap() error { return e.err }

// Permanent is always true.
func (*DataError) Permanent() bool { return true }

// encode writes a value; a JSON is its own text.
func encode(value any) (string, error) {
	if text, ok := value.(JSON); ok {
		return string(text), nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", &DataError{fmt.Sprintf("can't write a %T as JSON", value), err}
	}
	return string(text), nil
}

// UnmarshalJSON keeps the text.
func (j *JSON) UnmarshalJSON(text []byte) error {
	*j = JSON(text)
	return nil
}

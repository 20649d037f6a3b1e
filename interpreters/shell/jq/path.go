package jq

import (
	"math"
	"sort"
)

// indexValue is v[key].
func indexValue(v, key any) (any, error) {
	switch key := plain(key).(type) {
	case string:
		switch o := v.(type) {
		case nil:
			return nil, nil
		case *Object:
			return o.values[key], nil
		}
		return nil, failf("Cannot index %s with \"%s\"", typeOf(v), key)
	case float64:
		switch list := v.(type) {
		case nil:
			return nil, nil
		case []any:
			if math.IsNaN(key) {
				return nil, nil
			}
			i := int(math.Floor(math.Max(-1e15, math.Min(1e15, key))))
			if i < 0 {
				i += len(list)
			}
			if i < 0 || i >= len(list) {
				return nil, nil
			}
			return list[i], nil
		}
		return nil, failf("Cannot index %s with number", typeOf(v))
	case slice:
		return sliceValue(v, key)
	case *Object:
		if s, ok := sliceOf(key); ok {
			return sliceValue(v, s)
		}
	case []any:
		if list, ok := v.([]any); ok {
			return indicesOf(list, key), nil
		}
	case nil:
		if v == nil {
			return nil, nil
		}
		return nil, failf("Cannot index %s with null", typeOf(v))
	}
	return nil, failf("Cannot index %s with %s", typeOf(v), typeOf(key))
}

func sliceOf(o *Object) (slice, bool) {
	from, ok1 := o.Get("start")
	to, ok2 := o.Get("end")
	return slice{from, to}, ok1 || ok2
}

// bounds resolves a slice of something with a length.
func (s slice) bounds(length int) (from, to int, err error) {
	resolve := func(v any, otherwise int, round func(float64) float64) (int, error) {
		if v == nil {
			return otherwise, nil
		}
		n, ok := plain(v).(float64)
		if !ok {
			return 0, failf("Start and end indices of an array slice must be numbers")
		}
		if math.IsNaN(n) {
			return otherwise, nil
		}
		i := int(round(math.Max(-1e15, math.Min(1e15, n))))
		if i < 0 {
			i += length
		}
		return max(0, min(i, length)), nil
	}
	if from, err = resolve(s.from, 0, math.Floor); err != nil {
		return
	}
	if to, err = resolve(s.to, length, math.Ceil); err != nil {
		return
	}
	return from, max(from, to), nil
}

func sliceValue(v any, s slice) (any, error) {
	switch list := v.(type) {
	case nil:
		return nil, nil
	case []any:
		from, to, err := s.bounds(len(list))
		if err != nil {
			return nil, err
		}
		return append([]any{}, list[from:to]...), nil
	case string:
		runes := []rune(list)
		from, to, err := s.bounds(len(runes))
		if err != nil {
			return nil, err
		}
		return string(runes[from:to]), nil
	}
	return nil, failf("Cannot index %s with object", typeOf(v))
}

// indicesOf lists where an array begins in another one.
func indicesOf(list, part []any) any {
	found := []any{}
	if len(part) == 0 {
		return nil
	}
	for i := 0; i+len(part) <= len(list); i++ {
		equal := true
		for j := range part {
			if compare(list[i+j], part[j]) != 0 {
				equal = false
				break
			}
		}
		if equal {
			found = append(found, float64(i))
		}
	}
	return found
}

func getPath(v any, path []any) (any, error) {
	for _, key := range path {
		if v == nil {
			return nil, nil
		}
		var err error
		if v, err = indexValue(v, key); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// The largest index that a program can set, because the elements before it are made.
const maxIndex = 1 << 20

// setPath returns a copy of v with another value at a path.
func setPath(v any, path []any, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	switch key := plain(path[0]).(type) {
	case string:
		o := NewObject()
		switch old := v.(type) {
		case nil:
		case *Object:
			o = old.copy()
		default:
			return nil, failf("Cannot index %s with \"%s\"", typeOf(v), key)
		}
		child, err := setPath(o.values[key], path[1:], value)
		if err != nil {
			return nil, err
		}
		o.Set(key, child)
		return o, nil
	case float64:
		var list []any
		switch old := v.(type) {
		case nil:
		case []any:
			list = append(list, old...)
		default:
			return nil, failf("Cannot index %s with number", typeOf(v))
		}
		i := int(math.Floor(key))
		if i < 0 {
			if i += len(list); i < 0 {
				return nil, failf("Out of bounds negative array index")
			}
		}
		if i > maxIndex {
			return nil, failf("Array index too large")
		}
		for len(list) <= i {
			list = append(list, nil)
		}
		child, err := setPath(list[i], path[1:], value)
		if err != nil {
			return nil, err
		}
		list[i] = child
		return list, nil
	case *Object:
		s, ok := sliceOf(key)
		if !ok {
			return nil, failf("Cannot update field at object index of array")
		}
		var list []any
		switch old := v.(type) {
		case nil:
		case []any:
			list = old
		default:
			return nil, failf("Cannot update field at object index of %s", typeOf(v))
		}
		from, to, err := s.bounds(len(list))
		if err != nil {
			return nil, err
		}
		child, err := setPath(append([]any{}, list[from:to]...), path[1:], value)
		if err != nil {
			return nil, err
		}
		part, ok := child.([]any)
		if !ok {
			return nil, failf("A slice of an array can only be assigned another array")
		}
		return append(append(append([]any{}, list[:from]...), part...), list[to:]...), nil
	}
	return nil, failf("Invalid path component %s", describe(path[0]))
}

// deletePaths removes places, the last ones first, so that the others stay where they are.
func deletePaths(v any, paths []any) (any, error) {
	paths = append([]any(nil), paths...)
	sort.SliceStable(paths, func(i, j int) bool { return compare(paths[i], paths[j]) > 0 })
	for _, p := range paths {
		path, ok := p.([]any)
		if !ok {
			return nil, failf("Path must be specified as an array")
		}
		var err error
		if v, err = deletePath(v, path); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func deletePath(v any, path []any) (any, error) {
	if len(path) == 0 || v == nil {
		return nil, nil
	}
	if len(path) > 1 {
		child, err := indexValue(v, path[0])
		if err != nil || child == nil {
			return v, err
		}
		if child, err = deletePath(child, path[1:]); err != nil {
			return nil, err
		}
		return setPath(v, path[:1], child)
	}
	switch key := plain(path[0]).(type) {
	case string:
		if o, ok := v.(*Object); ok {
			return o.without(key), nil
		}
		return nil, failf("Cannot delete field at object index of %s", typeOf(v))
	case float64:
		if list, ok := v.([]any); ok {
			i := int(math.Floor(key))
			if i < 0 {
				i += len(list)
			}
			if i < 0 || i >= len(list) {
				return v, nil
			}
			return append(append([]any{}, list[:i]...), list[i+1:]...), nil
		}
		return nil, failf("Cannot delete field at array index of %s", typeOf(v))
	case *Object:
		s, ok := sliceOf(key)
		list, isList := v.([]any)
		if !ok || !isList {
			return nil, failf("Cannot delete field at object index of %s", typeOf(v))
		}
		from, to, err := s.bounds(len(list))
		if err != nil {
			return nil, err
		}
		return append(append([]any{}, list[:from]...), list[to:]...), nil
	}
	return nil, failf("Cannot delete field at %s", describe(path[0]))
}

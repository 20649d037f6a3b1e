package crd

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

const anything = "x-kubernetes-preserve-unknown-fields"

// described is a type that says what it is in a schema, as those of Kubernetes do.
type described interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	byDescribed  = reflect.TypeFor[described]()
	byText       = reflect.TypeFor[encoding.TextMarshaler]()
	byMarshaling = reflect.TypeFor[json.Marshaler]()
)

// object is the schema of a struct.
func object(value any, place string) (fields, error) {
	of := reflect.TypeOf(value)
	if of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of == nil || of.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s: its type must be a struct, and it is %v", place, of)
	}
	return schemaOf(of, place, nil)
}

// schemaOf is the structural schema of a type. Around are the structs that it is a part of.
func schemaOf(of reflect.Type, place string, around []reflect.Type) (fields, error) {
	if of.Kind() == reflect.Pointer {
		return schemaOf(of.Elem(), place, around)
	}
	switch {
	case of == timeType:
		return fields{"type": "string", "format": "date-time"}, nil
	case of == rawType:
		return fields{anything: true}, nil
	case implements(of, byDescribed):
		return ofDescribed(reflect.New(of).Interface().(described), place)
	case implements(of, byText):
		return fields{"type": "string"}, nil
	case implements(of, byMarshaling):
		return nil, fmt.Errorf("%s: %v writes JSON of its own: give it the functions OpenAPISchemaType and OpenAPISchemaFormat", place, of)
	}
	switch of.Kind() {
	case reflect.Bool:
		return fields{"type": "boolean"}, nil
	case reflect.String:
		return fields{"type": "string"}, nil
	case reflect.Int32, reflect.Int64:
		return fields{"type": "integer", "format": of.Kind().String()}, nil
	case reflect.Int, reflect.Int8, reflect.Int16:
		return fields{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fields{"type": "integer", "minimum": 0}, nil
	case reflect.Float32:
		return fields{"type": "number", "format": "float"}, nil
	case reflect.Float64:
		return fields{"type": "number", "format": "double"}, nil
	case reflect.Interface:
		return fields{anything: true}, nil
	case reflect.Slice, reflect.Array:
		if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8 {
			return fields{"type": "string", "format": "byte"}, nil
		}
		items, err := schemaOf(of.Elem(), place+"[]", around)
		return fields{"type": "array", "items": items}, err
	case reflect.Map:
		return ofMap(of, place, around)
	case reflect.Struct:
		if slices.Contains(around, of) {
			return nil, fmt.Errorf("%s: %v contains itself, which a definition cannot express: use map[string]any for the inner one", place, of)
		}
		schema, properties, required := fields{"type": "object"}, fields{}, []string{}
		if err := addFields(of, place, append(slices.Clip(around), of), properties, &required); err != nil {
			return nil, err
		}
		if len(properties) > 0 {
			schema["properties"] = properties
		}
		if len(required) > 0 {
			schema["required"] = required
		}
		return schema, nil
	}
	return nil, fmt.Errorf("%s: a definition cannot express %v", place, of)
}

func implements(of, what reflect.Type) bool {
	return of.Implements(what) || reflect.PointerTo(of).Implements(what)
}

func ofDescribed(of described, place string) (fields, error) {
	types, format := of.OpenAPISchemaType(), of.OpenAPISchemaFormat()
	if format == "int-or-string" {
		return fields{"x-kubernetes-int-or-string": true}, nil
	}
	if len(types) != 1 {
		return nil, fmt.Errorf("%s: a field has one type, and OpenAPISchemaType of %T has %d", place, of, len(types))
	}
	schema := fields{"type": types[0]}
	if format != "" {
		schema["format"] = format
	}
	if types[0] == "object" {
		schema[anything] = true
	}
	return schema, nil
}

func ofMap(of reflect.Type, place string, around []reflect.Type) (fields, error) {
	if of.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%s: the keys of an object are texts: write map[string]%v", place, of.Elem())
	}
	if of.Elem().Kind() == reflect.Interface {
		return fields{"type": "object", anything: true}, nil
	}
	values, err := schemaOf(of.Elem(), place+".*", around)
	return fields{"type": "object", "additionalProperties": values}, err
}

// addFields adds those of a struct, and of structs that are embedded in it.
func addFields(of reflect.Type, place string, around []reflect.Type, properties fields, required *[]string) error {
	for i := range of.NumField() {
		field := of.Field(i)
		tag, hasTag := field.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" || !field.IsExported() && !field.Anonymous {
			continue
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if field.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			if slices.Contains(around, inner) {
				return fmt.Errorf("%s: %v contains itself, which a definition cannot express", place, inner)
			}
			if err := addFields(inner, place, append(slices.Clip(around), inner), properties, required); err != nil {
				return err
			}
			continue
		}
		if !field.IsExported() {
			continue
		}
		if !hasTag || name == "" {
			lower := strings.ToLower(field.Name[:1]) + field.Name[1:]
			return fmt.Errorf("%s.%s: a field of a definition needs the name that it has in YAML: write `json:%q`", place, field.Name, lower)
		}
		at := place + "." + name
		flags := strings.Split(options, ",")
		schema, err := schemaOf(field.Type, at, around)
		if err != nil {
			return err
		}
		if slices.Contains(flags, "string") {
			schema = fields{"type": "string"}
		}
		if err := tagged(schema, field.Tag, at); err != nil {
			return err
		}
		properties[name] = schema
		_, hasDefault := schema["default"]
		isOptional := slices.Contains(flags, "omitempty") || slices.Contains(flags, "omitzero")
		if !isOptional && !hasDefault && field.Type.Kind() != reflect.Pointer {
			*required = append(*required, name)
		}
	}
	return nil
}

// tagged adds what the tags of a field say.
func tagged(schema fields, tags reflect.StructTag, place string) error {
	for _, key := range []string{"description", "pattern", "format"} {
		if text, has := tags.Lookup(key); has {
			schema[key] = text
		}
	}
	of, _ := schema["type"].(string)
	for key, allowed := range map[string]string{
		"minimum": "integer number", "maximum": "integer number", "minLength": "string", "maxLength": "string",
		"minItems": "array", "maxItems": "array",
	} {
		text, has := tags.Lookup(key)
		if !has {
			continue
		}
		if !slices.Contains(strings.Fields(allowed), of) {
			return fmt.Errorf("%s: the tag %s is not for the type %s", place, key, of)
		}
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%s: the tag %s is not a number: %q", place, key, text)
		}
		schema[key] = json.Number(text)
	}
	if text, has := tags.Lookup("enum"); has {
		values := []any{}
		for one := range strings.SplitSeq(text, ",") {
			value, err := valueOf(one, of, place, "enum")
			if err != nil {
				return err
			}
			values = append(values, value)
		}
		schema["enum"] = values
	}
	if text, has := tags.Lookup("default"); has {
		value, err := valueOf(text, of, place, "default")
		if err != nil {
			return err
		}
		schema["default"] = value
	}
	if text, has := tags.Lookup("listMapKeys"); has {
		if of != "array" {
			return fmt.Errorf("%s: the tag listMapKeys is not for the type %s", place, of)
		}
		schema["x-kubernetes-list-type"], schema["x-kubernetes-list-map-keys"] = "map", strings.Split(text, ",")
	}
	return nil
}

// valueOf reads a value of a tag: a text as it is, anything else as JSON of this type.
func valueOf(text, of, place, tag string) (any, error) {
	if of == "string" {
		return text, nil
	}
	wrong := func() (any, error) {
		return nil, fmt.Errorf("%s: the tag %s is not of the type %s: %q", place, tag, of, text)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return wrong()
	}
	found := "object"
	switch value := value.(type) {
	case json.Number:
		if found = "number"; of == "integer" {
			if _, err := value.Int64(); err == nil {
				found = of
			}
		}
	case bool:
		found = "boolean"
	case string:
		found = "string"
	case []any:
		found = "array"
	case nil:
		found = "null"
	}
	if of != "" && found != of {
		return wrong()
	}
	return value, nil
}

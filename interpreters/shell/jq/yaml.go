package jq

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds what aliases can make of a small document.
const maxNodes = 200_000

// ParseYAML reads the documents of a YAML stream, with their keys in order.
func ParseYAML(text string) ([]any, error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	var documents []any
	for {
		var node yaml.Node
		err := d.Decode(&node)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		count := 0
		v, err := fromYAML(&node, &count)
		if err != nil {
			return nil, err
		}
		documents = append(documents, v)
	}
}

func fromYAML(n *yaml.Node, count *int) (any, error) {
	if *count++; *count > maxNodes {
		return nil, errors.New("the document has too many values")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return fromYAML(n.Content[0], count)
	case yaml.AliasNode:
		return fromYAML(n.Alias, count)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := fromYAML(item, count)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		o := NewObject()
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := fromYAML(n.Content[i+1], count)
			if err != nil {
				return nil, err
			}
			if n.Content[i].Tag == "!!merge" {
				if err := merge(o, v); err != nil {
					return nil, err
				}
				continue
			}
			o.Set(n.Content[i].Value, v)
		}
		return o, nil
	}
	return scalarOf(n)
}

// merge adds the keys of << that are not there.
func merge(o *Object, v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		from, ok := item.(*Object)
		if !ok {
			return errors.New("<< needs a mapping")
		}
		for _, key := range from.keys {
			if _, has := o.Get(key); !has {
				o.Set(key, from.values[key])
			}
		}
	}
	return nil
}

func scalarOf(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int", "!!float":
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		return f, nil
	}
	return n.Value, nil
}

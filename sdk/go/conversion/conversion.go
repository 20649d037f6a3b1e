// Package conversion answers kubernetesCustomResourceConversion bindings. Who imports it has the export that they need.
//
// What a version can't hold is best kept in an annotation, as otherwise who reads an object in that version and writes it
// back loses it. Of `metadata` only labels and annotations may change.
package conversion

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/boathook/boathook/sdk/go/internal/conversion/export_boathook_hook_conversion"
	"github.com/boathook/boathook/sdk/go/internal/failure"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
	"github.com/boathook/boathook/sdk/go/kube"
)

// Request is one object of one version, wanted in another.
type Request struct {
	// Binding is the name in the configuration.
	Binding string
	// From is the version of the object, like `v1beta1`: one step of the binding's.
	From string
	// To is the version that is wanted.
	To string
	// Object is to be converted in place. Its apiVersion is the wanted one already.
	Object kube.Object
}

var convert = func(*Request) error {
	return errors.New("the hook converts nothing: call conversion.Handle in a function init")
}

func init() { export_boathook_hook_conversion.OnConvert = all }

// Handle gives the function that converts one object; call it in a function init. An error is shown to the person whose
// request needed the conversion.
func Handle(function func(*Request) error) { convert = function }

func all(binding, from, to string, objects []string) wit.Result[[]string, string] {
	converted, err := failure.Guard(func() ([]string, error) {
		converted := make([]string, len(objects))
		for i, object := range objects {
			text, err := one(binding, from, to, kube.JSON(object))
			if err != nil {
				return nil, err
			}
			converted[i] = text
		}
		return converted, nil
	})
	if err != nil {
		return wit.Err[[]string](err.Error())
	}
	return wit.Ok[[]string, string](converted)
}

func one(binding, from, to string, text kube.JSON) (string, error) {
	object, err := text.Object()
	if err != nil {
		return "", err
	}
	version := to
	if group, _, found := strings.Cut(object.Text("apiVersion"), "/"); found {
		version = group + "/" + to
	}
	object["apiVersion"] = version
	if err := convert(&Request{binding, from, to, object}); err != nil {
		return "", fmt.Errorf("%s: %w", object.Ref(), err)
	}
	written, err := json.Marshal(object)
	return string(written), err
}

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/reconciling"
)

func set(port, rest string) *reconciling.Parent[spec] {
	object := fmt.Sprintf(`{"metadata": {"name": "db", "annotations": {%q: %q}}, "spec": {%s}}`, portAnnotation, port, rest)
	parent := &reconciling.Parent[spec]{Ref: kube.Ref{Name: "db"}, Object: kube.JSON(object)}
	if err := kube.JSON("{" + rest + "}").Into(&parent.Spec); err != nil {
		panic(err)
	}
	return parent
}

func TestEachPodHasAService(t *testing.T) {
	for rest, names := range map[string]string{
		"":              "db-0 db",
		`"replicas": 2`: "db-0 db-1 db",
		`"replicas": 2, "ordinals": {"start": 5}`: "db-5 db-6 db",
		`"replicas": 0`: "db",
	} {
		desired, err := reconcile(set("5432", rest))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, child := range desired.Children {
			found = append(found, child.(kube.Object)["metadata"].(map[string]any)["name"].(string))
		}
		if strings.Join(found, " ") != names || desired.NoneWanted != (names == "db") {
			t.Errorf("%s: %v", rest, found)
		}
	}
}

func TestAnotherPortIsRefused(t *testing.T) {
	for _, port := range []string{"", "http", "0", "65536", "-1"} {
		if _, err := reconcile(set(port, "")); err == nil || !strings.Contains(err.Error(), "write a port") {
			t.Errorf("%q: %v", port, err)
		}
	}
}

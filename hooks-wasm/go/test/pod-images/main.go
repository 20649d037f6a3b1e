// Writes down the images of each Pod that comes in a ConfigMap: what a run costs in each language is measured with it.
//
// It never reads from the cluster.
package main

import (
	"strings"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"
)

func init() {
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{{Name: "pods", APIVersion: "v1", Kind: "Pod"}},
		Permissions: boathook.Permit(boathook.Permission{
			Resources: []string{"configmaps"},
			Verbs:     []string{"patch"},
		}),
	})
	boathook.Run(run)
}

func run(ctx *boathook.Context) error {
	for event := range ctx.Events("pods") {
		pod, err := event.Object.Object()
		if err != nil {
			return err
		}
		var images []string
		containers, _ := pod.At("spec", "containers").([]any)
		for _, container := range containers {
			if container, ok := container.(map[string]any); ok {
				image, _ := container["image"].(string)
				images = append(images, image)
			}
		}
		err = kube.Apply(kube.Object{
			"apiVersion": "v1",
			"kind":       "ConfigMap",
			"metadata":   map[string]any{"namespace": event.Target.Namespace, "name": event.Target.Name},
			"data":       map[string]any{"images": strings.Join(images, " ")},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func main() {}

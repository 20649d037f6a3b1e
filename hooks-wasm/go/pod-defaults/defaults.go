package main

import "github.com/boathook/boathook/sdk/go/kube"

// Requests of a container that has neither a request nor a limit of a resource: a limit stands for a request.
var requests = map[string]string{"cpu": "50m", "memory": "64Mi"}

// fill fills in what is missing; done twice it changes nothing more. The labels are those of the Pod's namespace that Pods
// inherit.
func fill(pod kube.Object, labels map[string]string) {
	for key, value := range labels {
		orInsert(pod.Fields("metadata", "labels"), key, value)
	}
	windows := pod.Text("spec", "os", "name") == "windows"
	if !windows {
		orInsert(pod.Fields("spec", "securityContext"), "seccompProfile", map[string]any{"type": "RuntimeDefault"})
	}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := pod.At("spec", list).([]any)
		for _, value := range containers {
			if fields, ok := value.(map[string]any); ok {
				fillContainer(fields, windows)
			}
		}
	}
}

func fillContainer(container kube.Object, windows bool) {
	for resource, quantity := range requests {
		if container.At("resources", "limits", resource) == nil {
			orInsert(container.Fields("resources", "requests"), resource, quantity)
		}
	}
	if !windows && !isPrivileged(container) {
		orInsert(container.Fields("securityContext"), "allowPrivilegeEscalation", false)
	}
}

// isPrivileged tells of a container that can't be without the right to more privileges: the API server refuses the two
// together.
func isPrivileged(container kube.Object) bool {
	if container.At("securityContext", "privileged") == true {
		return true
	}
	added, _ := container.At("securityContext", "capabilities", "add").([]any)
	for _, name := range added {
		if name == "SYS_ADMIN" || name == "CAP_SYS_ADMIN" {
			return true
		}
	}
	return false
}

func orInsert(fields map[string]any, key string, wanted any) {
	if fields[key] == nil {
		fields[key] = wanted
	}
}

package main

type fields = map[string]any

func labelsOf(name string) fields { return fields{"app.kubernetes.io/name": name} }

func deploymentOf(name string, spec spec) fields {
	labels := labelsOf(name)
	web := fields{"name": "web", "image": spec.Image, "ports": []any{fields{"containerPort": 8080}}}
	return fields{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": fields{"name": name, "labels": labels},
		"spec": fields{
			"replicas": spec.Size,
			"selector": fields{"matchLabels": labels},
			"template": fields{"metadata": fields{"labels": labels}, "spec": fields{"containers": []any{web}}},
		},
	}
}

func serviceOf(name string) fields {
	labels := labelsOf(name)
	return fields{
		"apiVersion": "v1", "kind": "Service", "metadata": fields{"name": name, "labels": labels},
		"spec": fields{"selector": labels, "ports": []any{fields{"port": 80, "targetPort": 8080}}},
	}
}

package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes the administrator's kubeconfig into the data directory, where our own
// controllers read it, and to the file that the user named. Everything is inside the file.
func writeKubeconfig(d *dataDir, address, extra string) error {
	ca, err := os.ReadFile(d.caFile())
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	const name = "boathook-apiserver"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: "https://" + address, CertificateAuthorityData: ca}
	config.AuthInfos["admin"] = &api.AuthInfo{Token: d.token}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: "admin"}
	config.CurrentContext = name

	for _, file := range []string{d.kubeconfig(), extra} {
		if file == "" {
			continue
		}
		if err := clientcmd.WriteToFile(*config, file); err != nil {
			return fmt.Errorf("kubeconfig %s: %w", file, err)
		}
	}
	return nil
}

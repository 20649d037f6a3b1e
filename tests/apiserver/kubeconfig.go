package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfigs writes the administrator's kubeconfig into the data directory, where our own controllers read it, and
// to the file that the user named; and that of the kubelet, if there is to be one. Everything is inside the files.
func writeKubeconfigs(d *dataDir, address string, opts commandLine) error {
	for _, one := range []struct{ file, user, token string }{
		{d.kubeconfig(), "admin", d.token},
		{opts.kubeconfig, "admin", d.token},
		{opts.nodeKubeconfig, nodeName, d.nodeToken},
	} {
		if one.file == "" {
			continue
		}
		if err := writeKubeconfig(d, address, one.file, one.user, one.token); err != nil {
			return fmt.Errorf("kubeconfig %s: %w", one.file, err)
		}
	}
	return nil
}

func writeKubeconfig(d *dataDir, address, file, user, token string) error {
	ca, err := os.ReadFile(d.caFile())
	if err != nil {
		return err
	}
	const name = "boathook-apiserver"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: "https://" + address, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &api.AuthInfo{Token: token}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}

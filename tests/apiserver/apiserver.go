package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// apiServerFlags are kube-apiserver's own flags, as an operator of a cluster would write them.
func apiServerFlags(d *dataDir, etcdEndpoint string, opts commandLine) []string {
	flags := []string{
		"--etcd-servers=" + etcdEndpoint,
		"--watch-cache=" + strconv.FormatBool(opts.watchCache),
		"--cert-dir=" + d.certs(),
		"--token-auth-file=" + d.tokens(),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + d.saKey(),
		"--service-account-signing-key-file=" + d.saKey(),
		"--service-cluster-ip-range=10.0.0.0/24",
	}
	if opts.forNode() {
		host, _, _ := net.SplitHostPort(opts.listen)
		flags = append(flags,
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--advertise-address="+host,
			// The node's name is in no DNS.
			"--kubelet-preferred-address-types=InternalIP")
	} else {
		flags = append(flags,
			"--authorization-mode=RBAC",
			// Pods need no ServiceAccount that a controller made first.
			"--disable-admission-plugins=ServiceAccount",
			// Endpoints of the Service "kubernetes" may not be loopback addresses, and no Pod asks for them.
			"--endpoint-reconciler-type=none",
			"--advertise-address=127.0.0.1")
	}
	if opts.auditLog != "" {
		// Blocking: what a client has an answer to is in the file.
		flags = append(flags, "--audit-log-path="+opts.auditLog, "--audit-log-mode=blocking", "--audit-policy-file="+d.auditPolicy())
	}
	return flags
}

// auditPolicy has a line for each request when it is answered, and no content of any object.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
`

// startAPIServer serves on the listener that it is given, so the port cannot be lost to another
// process.
func startAPIServer(d *dataDir, listener net.Listener, etcdEndpoint string, opts commandLine) (*part, error) {
	if err := os.WriteFile(d.auditPolicy(), []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("audit policy: %w", err)
	}
	s := options.NewServerRunOptions()
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range s.Flags().FlagSets {
		fs.AddFlagSet(set)
	}
	if err := fs.Parse(apiServerFlags(d, etcdEndpoint, opts)); err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	address := listener.Addr().(*net.TCPAddr)
	s.SecureServing.Listener = listener
	s.SecureServing.BindAddress = address.IP
	s.SecureServing.BindPort = address.Port

	registry := s.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := registry.Set(); err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := logsapi.ValidateAndApply(s.Logs, registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)); err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})

	completed, err := s.Complete(context.Background())
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("kube-apiserver: %w", utilerrors.NewAggregate(errs))
	}
	return startPart("kube-apiserver", func(ctx context.Context) error {
		return app.Run(ctx, completed)
	}), nil
}

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

// commandLine is what was typed, checked.
type commandLine struct {
	data           string
	listen         string
	kubeconfig     string
	nodeKubeconfig string
	controllers    []string
	watchCache     bool
	auditLog       string
	exitWithParent bool
}

func parseFlags(args []string) (commandLine, error) {
	var o commandLine
	fs := pflag.NewFlagSet("boathook-apiserver", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.StringVar(&o.data, "data", "",
		"directory that keeps etcd's data, certificates and keys; a start on the same one continues the same cluster (default: a temporary one, removed at the end)")
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0",
		"loopback address to serve on; port 0 lets the system choose")
	fs.StringVar(&o.kubeconfig, "write-kubeconfig", "",
		"file to write the administrator's kubeconfig to, with certificate and token inside")
	fs.StringVar(&o.nodeKubeconfig, "write-node-kubeconfig", "",
		"file to write the kubeconfig of the kubelet of a node \""+nodeName+"\" to. The control plane is then that of a real node: --listen takes any address, so use it in a network namespace of its own")
	fs.StringSliceVar(&o.controllers, "controllers", nil,
		"controllers of kube-controller-manager to run, separated by commas (default: none)")
	fs.BoolVar(&o.watchCache, "watch-cache", true,
		"kube-apiserver's own: false takes watches straight to etcd, whose compactions they then notice")
	fs.StringVar(&o.auditLog, "audit-log", "",
		"file that gets a JSON line for each request: who asked, as whom, for what, and the answer's code (default: none)")
	fs.BoolVar(&o.exitWithParent, "exit-with-parent", false,
		"stop when the parent process ends or, if stdin is a pipe, when that is closed; a line \"compact\" there compacts etcd")
	fs.Usage = func() {
		fmt.Fprintf(os.Stdout, "A Kubernetes control plane in one process, for tests. Prints \"ready\" when it serves.\n\nFlags:\n%s", fs.FlagUsages())
	}
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see --help", fs.Arg(0))
	}
	for _, file := range []*string{&o.kubeconfig, &o.nodeKubeconfig, &o.auditLog} {
		if *file == "" {
			continue
		}
		// The data directory is to become the working directory.
		absolute, err := filepath.Abs(*file)
		if err != nil {
			return o, fmt.Errorf("%s: %w", *file, err)
		}
		*file = absolute
	}
	if o.forNode() {
		return o, checkAddress(o.listen)
	}
	return o, checkLoopback(o.listen)
}

// forNode says whether a kubelet is to join.
func (o commandLine) forNode() bool { return o.nodeKubeconfig != "" }

// checkAddress wants an address that Pods can reach: the certificate and the Service "kubernetes" have it.
func checkAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %q: %w; give IP:PORT, for example 10.99.0.1:6443", address, err)
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsLoopback() || ip.IsUnspecified() {
		return fmt.Errorf("--listen %q: Pods can't reach %q; give an address of the node, for example 10.99.0.1:6443", address, host)
	}
	return nil
}

// checkLoopback refuses every address that another machine could reach: the token is in a file
// and etcd does not sync to disk, so this is nothing to serve to others.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %q: %w; give IP:PORT, for example 127.0.0.1:0", address, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--listen %q: %q is not a loopback address; give for example 127.0.0.1:0", address, host)
	}
	return nil
}

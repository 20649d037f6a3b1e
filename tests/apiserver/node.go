package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// nodeName is the only node that can join.
const nodeName = "node-1"

// nodeCommands are what a node needs beside a container runtime. Each runs in a process of its own, with
// its own flags: they register metrics and feature gates for the whole process. They are in this program
// because they share most of their code with kube-apiserver, so that a program of their own would double
// the time and the space of the build.
var nodeCommands = map[string]func() *cobra.Command{
	"kubelet":        func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kube-scheduler": func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kube-proxy":     proxy.NewProxyCommand,
}

// runNodeCommand becomes one of them if the first argument names one.
func runNodeCommand() {
	if len(os.Args) < 2 || nodeCommands[os.Args[1]] == nil {
		return
	}
	command := nodeCommands[os.Args[1]]()
	// kubelet and kube-proxy look at the process's arguments, and cobra at those that it is given.
	os.Args = append(os.Args[:1:1], os.Args[2:]...)
	command.SetArgs(os.Args[1:])
	os.Exit(cli.Run(command))
}

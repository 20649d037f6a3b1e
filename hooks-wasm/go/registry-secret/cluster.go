package main

import (
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/snapshots"
)

// cluster is what the hook sees of it: three snapshots of one moment.
type cluster struct {
	namespaces *snapshots.Snapshot
	// All Secrets with our name and label.
	copies *snapshots.Snapshot
	// nil when there is none.
	source *source
}

func openCluster() (*cluster, error) {
	sources, err := snapshots.Open("source")
	if err != nil {
		return nil, err
	}
	cluster := &cluster{}
	if cluster.namespaces, err = snapshots.Open("namespaces"); err != nil {
		return nil, err
	}
	if cluster.copies, err = snapshots.Open("copies"); err != nil {
		return nil, err
	}
	if item := sources.Get(sourceNamespace, secretName); item != nil {
		cluster.source = &source{}
		err = item.FilterResult.Into(cluster.source)
	}
	return cluster, err
}

// sourceIsGone tells whether it really is: before all copies go with it, the API server is asked.
func (c *cluster) sourceIsGone() (bool, error) {
	if c.copies.Len() == 0 {
		return true, nil
	}
	var found kube.Object
	exists, err := kube.Find(reference(sourceNamespace), &found)
	return !exists, err
}

// Gives the writer the write that the copy in this namespace needs.
func (c *cluster) mend(item *snapshots.Item, writer *writer) error {
	if item.Name == sourceNamespace {
		return nil
	}
	var namespace namespace
	if err := item.FilterResult.Into(&namespace); err != nil {
		return err
	}
	copy := c.copies.Get(item.Name, secretName)
	var is *copied
	if copy != nil {
		is = &copied{}
		if err := copy.FilterResult.Into(is); err != nil {
			return err
		}
	}
	switch decide(c.source, namespace, is) {
	case create:
		writer.create(item.Name)
	case update:
		writer.update(copy, is)
	case remove:
		writer.remove(copy)
	case recreate:
		writer.remove(copy)
		writer.create(item.Name)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// socket is where etcd listens, relative to the data directory, which is the working directory:
// the absolute path of a test's directory is easily longer than a socket's may be (107 bytes).
const socket = "etcd.sock"

// etcdServer is an etcd with one member and one client, kube-apiserver, on a unix socket: no port
// to choose, nothing that another test could collide with, and the directory's rights guard it.
type etcdServer struct {
	embedded *embed.Etcd
	endpoint string
}

func startEtcd(d *dataDir) (*etcdServer, error) {
	// A killed predecessor leaves its socket behind; the lock on etcd's data is what keeps two apart.
	if err := os.RemoveAll(socket); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	embedded, err := embed.StartEtcd(etcdConfig(d.etcd()))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	e := &etcdServer{embedded: embedded, endpoint: "unix://" + socket}
	select {
	case <-embedded.Server.ReadyNotify():
		return e, nil
	case err := <-embedded.Err():
		e.close()
		return nil, fmt.Errorf("etcd: %w", err)
	case <-time.After(startTimeout):
		e.close()
		return nil, fmt.Errorf("etcd: not ready within %s", startTimeout)
	}
}

func etcdConfig(dir string) *embed.Config {
	// 64 MB at once is for clusters that live; tests come by the dozen.
	wal.SegmentSizeBytes = 4 << 20

	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "error"
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Host: socket}}
	// The only member has no peers. The addresses that it advertises are etcd's defaults, which
	// nobody ever dials: etcd wants a host and a port there, and a cluster to be consistent.
	cfg.ListenPeerUrls = nil
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	// Nothing here has to survive a power cut.
	cfg.UnsafeNoFsync = true
	return cfg
}

// compact forgets all history before the present revision, which it returns.
func (e *etcdServer) compact(ctx context.Context) (int64, error) {
	revision := e.embedded.Server.KV().Rev()
	request := &etcdserverpb.CompactionRequest{Revision: revision, Physical: true}
	if _, err := e.embedded.Server.Compact(ctx, request); err != nil {
		return 0, fmt.Errorf("etcd: compact at revision %d: %w", revision, err)
	}
	return revision, nil
}

// close stops the member itself and leaves its listeners to the end of the process: embed's own
// Close waits seconds for the connections of a client that is this process.
func (e *etcdServer) close() { e.embedded.Server.Stop() }

package main

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/keyutil"
)

// dataDir is what outlives a restart: etcd's data, the serving certificate, the key that signs
// ServiceAccount tokens, and the administrator's token. Whatever is missing is made. It becomes the
// working directory.
type dataDir struct {
	path      string
	token     string
	nodeToken string
	temporary bool
}

func (d *dataDir) etcd() string        { return filepath.Join(d.path, "etcd") }
func (d *dataDir) certs() string       { return filepath.Join(d.path, "certs") }
func (d *dataDir) caFile() string      { return filepath.Join(d.certs(), "apiserver.crt") }
func (d *dataDir) saKey() string       { return filepath.Join(d.path, "service-account.key") }
func (d *dataDir) tokens() string      { return filepath.Join(d.path, "tokens.csv") }
func (d *dataDir) auditPolicy() string { return filepath.Join(d.path, "audit-policy.yaml") }
func (d *dataDir) kubeconfig() string  { return filepath.Join(d.path, "admin.kubeconfig") }

func openData(path string) (*dataDir, error) {
	d := &dataDir{path: path}
	if path == "" {
		made, err := os.MkdirTemp("", "boathook-apiserver-")
		if err != nil {
			return nil, fmt.Errorf("make a temporary data directory: %w", err)
		}
		d.path, d.temporary = made, true
	}
	if err := d.fill(); err != nil {
		d.close()
		return nil, fmt.Errorf("data directory %s: %w", d.path, err)
	}
	return d, nil
}

// close removes the directory if it was ours alone.
func (d *dataDir) close() {
	if d.temporary {
		os.RemoveAll(d.path)
	}
}

func (d *dataDir) fill() error {
	absolute, err := filepath.Abs(d.path)
	if err != nil {
		return err
	}
	d.path = absolute
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	if err := os.Chdir(d.path); err != nil {
		return err
	}
	if err := d.fillSAKey(); err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	if err := d.fillToken(); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	return nil
}

func (d *dataDir) fillSAKey() error {
	if _, err := os.Stat(d.saKey()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return os.WriteFile(d.saKey(), text, 0o600)
}

// fillToken keeps the tokens in files of their own and writes the table that kube-apiserver reads.
func (d *dataDir) fillToken() (err error) {
	if d.token, err = d.secret("admin.token"); err != nil {
		return err
	}
	if d.nodeToken, err = d.secret("node.token"); err != nil {
		return err
	}
	rows := d.token + ",admin,admin,system:masters\n" +
		d.nodeToken + ",system:node:" + nodeName + "," + nodeName + ",system:nodes\n"
	return os.WriteFile(d.tokens(), []byte(rows), 0o600)
}

// secret is what a file holds; random if there is none yet.
func (d *dataDir) secret(name string) (string, error) {
	file := filepath.Join(d.path, name)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		random := make([]byte, 32)
		rand.Read(random)
		text = []byte(hex.EncodeToString(random))
		err = os.WriteFile(file, text, 0o600)
	}
	return string(text), err
}

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	day = 24 * time.Hour
	// life is that of a certificate. It is renewed when a third of it is left, so there are 30 days for a remedy if that
	// fails.
	life   = 90 * day
	margin = life / 3
	// caLife is that of a CA. It is the same for all certificates of this time, so that clients and servers need not learn of
	// a renewal at the same moment.
	caLife = 10 * 365 * day
	// skew is for clocks that are behind.
	skew = time.Hour
)

// certificate is what the values keep, in PEM.
type certificate struct {
	CA    string `json:"ca"`
	CAKey string `json:"caKey"`
	Crt   string `json:"crt"`
	Key   string `json:"key"`
}

// wrong says why the certificate cannot be used any more.
func (c certificate) wrong(hosts []string, now time.Time) error {
	if c.Crt == "" {
		return errors.New("there is none")
	}
	ca, _, err := c.authority()
	if err != nil {
		return err
	}
	leaf, err := parsed(c.Crt)
	if err != nil {
		return fmt.Errorf("the certificate: %w", err)
	}
	key, err := signer(c.Key)
	if err != nil {
		return fmt.Errorf("its key: %w", err)
	}
	if !key.PublicKey.Equal(leaf.PublicKey) {
		return errors.New("the key is of another certificate")
	}
	if left := leaf.NotAfter.Sub(now); left < margin {
		return fmt.Errorf("it ends in %d days", int(left/day))
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	for _, host := range hosts {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}); err != nil {
			return err
		}
	}
	return nil
}

// renewed is a new certificate of the same CA, or of a new one if that CA ends before the certificate does.
func (c certificate) renewed(hosts []string, now time.Time) (certificate, error) {
	ca, caKey, err := c.authority()
	if err != nil || ca.NotAfter.Before(now.Add(life)) {
		if ca, caKey, err = newAuthority(now); err != nil {
			return certificate{}, err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	leaf, err := signed(&x509.Certificate{
		Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: now.Add(-skew), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, key, caKey)
	if err != nil {
		return certificate{}, err
	}
	texts := certificate{CA: text("CERTIFICATE", ca.Raw), Crt: text("CERTIFICATE", leaf.Raw)}
	for of, into := range map[*ecdsa.PrivateKey]*string{caKey: &texts.CAKey, key: &texts.Key} {
		bytes, err := x509.MarshalECPrivateKey(of)
		if err != nil {
			return certificate{}, err
		}
		*into = text("EC PRIVATE KEY", bytes)
	}
	return texts, nil
}

func newAuthority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "CA of the module guard"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(caLife),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	ca, err := signed(template, template, key, key)
	return ca, key, err
}

func signed(template, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	bytes, err := x509.CreateCertificate(rand.Reader, template, by, &key.PublicKey, byKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(bytes)
}

// authority is the CA that is kept, with its key.
func (c certificate) authority() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	ca, err := parsed(c.CA)
	if err != nil {
		return nil, nil, fmt.Errorf("the CA: %w", err)
	}
	key, err := signer(c.CAKey)
	if err != nil {
		return nil, nil, fmt.Errorf("the key of the CA: %w", err)
	}
	if !key.PublicKey.Equal(ca.PublicKey) {
		return nil, nil, errors.New("the key of the CA is of another one")
	}
	return ca, key, nil
}

func parsed(text string) (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

func signer(text string) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

func text(kind string, bytes []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
}

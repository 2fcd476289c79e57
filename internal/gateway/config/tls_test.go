package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/config"
)

// keyPair makes a certificate and its key, in PEM.
func keyPair(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func TestCertificate_MatchesKey(t *testing.T) {
	cert, key := keyPair(t)
	_, other := keyPair(t)
	files := map[string][]byte{"/etc/meup/cert.pem": cert, "/etc/meup/key.pem": key, "/etc/meup/other.pem": other}
	read := func(path string) ([]byte, error) { return files[path], nil }
	parse := func(tls string) (*config.Config, []config.Diagnostic) {
		return config.Parse("/etc/meup/meup.yaml", []byte("tls: "+tls+"\nspaces: {lab: }"), lookup, read)
	}
	cfg, faults := parse("{cert: cert.pem, key: /etc/meup/key.pem}")
	if cfg == nil || !cfg.TLS.Enabled() || cfg.TLS.Cert != "/etc/meup/cert.pem" || cfg.TLS.Key != "/etc/meup/key.pem" {
		t.Errorf("got %+v, %s", cfg, lines(faults))
	}
	if cfg, _ := parse("{cert: cert.pem, key: other.pem}"); cfg != nil {
		t.Error("the key of another certificate passes")
	}
}

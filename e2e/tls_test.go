package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
)

// The guarantees hold over TLS: bursts, echoes, order.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool := certificate(t, dir)
	g := &gatewayProc{t: t, addr: "127.0.0.1:" + freePort(t), config: filepath.Join(dir, "meup.yaml")}
	g.configure(fmt.Sprintf("tls: {cert: %s/cert.pem, key: %s/key.pem}\n", dir, dir) + labConfig)
	g.process = start(t, nil, filepath.Join(bin, "meup-gateway"), "serve", "--config", g.config, "--listen", g.addr, "--data", ":memory:")
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}

	dial := func(who string) *client.Client {
		c, err := client.Dial(t.Context(), client.Options{
			URL: "wss://" + g.addr + "/ws", Space: "lab", Token: who + "-token-for-tests", HTTPClient: secure, RetryDial: true,
		})
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	read := collect(t, dial("dave"))
	l := startLoad(t, dial("alice"), dial("bob"))
	l.more(2000)
	l.finish()
	var log []line
	for id, seq := range l.acked {
		log = append(log, line{ID: id, Seq: seq})
	}
	ordered := make([]line, len(log))
	for _, e := range log {
		if int(e.Seq) > len(log) {
			t.Fatalf("%d envelopes, and one of them is number %d", len(log), e.Seq)
		}
		ordered[e.Seq-1] = e
	}
	read.verify(ordered)
}

// certificate writes a certificate for 127.0.0.1 and its key, and returns a
// pool that trusts it.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return pool
}

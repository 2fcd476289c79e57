package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// authority issues certificates for 127.0.0.1 into a folder.
type authority struct {
	t     *testing.T
	dir   string
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	roots *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir(), roots: x509.NewCertPool()}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1000), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.roots.AddCert(a.cert)
	return a
}

// issue returns a certificate with a serial number, and its key.
func (a *authority) issue(serial int64, end time.Time) (cert, key []byte) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"gw.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: end, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// write replaces files as an ACME client does. nil leaves a file as it is.
func (a *authority) write(cert, key []byte) {
	a.t.Helper()
	for name, content := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if content == nil {
			continue
		}
		temp := filepath.Join(a.dir, "new-"+name)
		if err := errors.Join(os.WriteFile(temp, content, 0o600), os.Rename(temp, filepath.Join(a.dir, name))); err != nil {
			a.t.Fatal(err)
		}
	}
}

// serial connects, verifies the certificate, and returns its serial number.
func (a *authority) serial(addr string) int64 {
	a.t.Helper()
	conn := a.connect(addr)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func (a *authority) connect(addr string) *tls.Conn {
	a.t.Helper()
	d := &tls.Dialer{Config: &tls.Config{RootCAs: a.roots, ServerName: "gw.example.org", MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(a.t.Context(), "tcp", addr)
	if err != nil {
		a.t.Fatal(err)
	}
	return conn.(*tls.Conn)
}

// start starts a gateway with the files, which it reads every few milliseconds.
func (a *authority) start(log io.Writer) *meuptest.Gateway {
	a.t.Helper()
	// The open connection of TestCertificate_ReplacedFiles sends its first request at the end.
	yaml := "handshake_timeout: 10m\ntls: {cert: " + filepath.Join(a.dir, "cert.pem") + ", key: " + filepath.Join(a.dir, "key.pem") + "}\n" + meuptest.Config
	return meuptest.Start(a.t, yaml, func(o *gateway.Options) {
		o.CertificateEvery = 2 * time.Millisecond
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
}

func TestCertificate_ReplacedFiles(t *testing.T) {
	a, log := newAuthority(t), new(testkit.Log)
	a.write(a.issue(1, time.Now().AddDate(0, 2, 0)))
	g := a.start(log)
	open := a.connect(g.Addr())
	defer open.Close()
	if got := open.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != 1 {
		t.Errorf("serial %d at first", got)
	}

	// The key comes first: the pair does not fit until the certificate follows.
	cert, key := a.issue(2, time.Now().AddDate(0, 3, 0))
	a.write(nil, key)
	log.Wait(t, "the files of the TLS certificate cannot be used")
	if got := a.serial(g.Addr()); got != 1 {
		t.Errorf("serial %d with half of the files", got)
	}
	a.write(cert, nil)
	log.Wait(t, "TLS certificate replaced")
	if got := a.serial(g.Addr()); got != 2 {
		t.Errorf("serial %d afterwards", got)
	}

	// With a file that is cut, the gateway goes on, and logs the reason once.
	const reason = "failed to find any PEM data in certificate"
	a.write(cert[:len(cert)/2], nil)
	log.Wait(t, reason)
	a.write([]byte{}, nil)
	for range 20 { // each takes longer than the interval
		if got := a.serial(g.Addr()); got != 2 {
			t.Errorf("serial %d with a bad file", got)
		}
	}
	if n := strings.Count(log.String(), reason); n != 1 {
		t.Errorf("the reason is logged %d times:\n%s", n, log)
	}
	if err := os.Remove(filepath.Join(a.dir, "cert.pem")); err != nil {
		t.Fatal(err)
	}
	log.Wait(t, "no such file")
	a.write(a.issue(3, time.Now().AddDate(0, 3, 0)))
	testkit.Eventually(t, "the third one is used", func() bool { return a.serial(g.Addr()) == 3 })
	if strings.Contains(log.String(), "expires soon") {
		t.Errorf("a warning without a reason:\n%s", log)
	}
	// A connection that was open all the time goes on.
	if _, err := io.WriteString(open, "GET /healthz HTTP/1.0\r\n\r\n"); err != nil {
		t.Error(err)
	}
	if answer, err := io.ReadAll(open); err != nil || !strings.Contains(string(answer), "200 OK") {
		t.Errorf("%q, %v", answer, err)
	}
}

// The end of the certificate in use is a metric, and from 14 days before it is logged.
func TestCertificate_Expiry(t *testing.T) {
	a, log := newAuthority(t), new(testkit.Log)
	soon := time.Now().AddDate(0, 0, 13).Truncate(time.Second)
	a.write(a.issue(1, soon))
	g := a.start(log)
	if line := log.Wait(t, "the TLS certificate expires soon"); !strings.Contains(line, "days=12") {
		t.Errorf("logged: %s", line)
	}
	metric := func() (value string) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: a.roots, ServerName: "gw.example.org", MinVersion: tls.VersionTLS12},
		}}
		resp, err := client.Get("https://" + g.Addr() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\nmeup_tls_certificate_expiry_timestamp_seconds ")
		value, _, _ = strings.Cut(rest, "\n")
		return value
	}
	want := func(end time.Time) string { return strconv.FormatFloat(float64(end.Unix()), 'g', -1, 64) }
	if got := metric(); got != want(soon) {
		t.Errorf("the metric is %s, want %s", got, want(soon))
	}
	later := time.Now().AddDate(0, 3, 0).Truncate(time.Second)
	a.write(a.issue(2, later))
	testkit.Eventually(t, "the metric follows", func() bool { return metric() == want(later) })
	if n := strings.Count(log.String(), "expires soon"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, log)
	}
	a.write(a.issue(3, time.Now().Add(-time.Minute)))
	log.Wait(t, "the TLS certificate has expired")
}

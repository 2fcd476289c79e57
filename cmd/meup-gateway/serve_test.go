package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/kit/natsembed"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

const serveConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-long-enough-token, capabilities: ["*"]}
`

// serving is the command serve in this process.
type serving struct {
	*testkit.Log
	t     *testing.T
	addr  string
	stop  context.CancelFunc
	ended chan error
}

// startServe runs serve with a configuration, and with settings as from flags.
func startServe(t *testing.T, yaml string, settings map[string]string) *serving {
	t.Helper()
	file := filepath.Join(t.TempDir(), "meup.yaml")
	writeFile(t, file, yaml)
	return startServeFile(t, file, settings)
}

func startServeFile(t *testing.T, file string, settings map[string]string) *serving {
	t.Helper()
	return startServeFlags(t, serveFlags{config: file}, settings)
}

func startServeFlags(t *testing.T, f serveFlags, settings map[string]string) *serving {
	t.Helper()
	f.settings = make(map[string]*string)
	listen := "127.0.0.1:0"
	f.settings["listen"] = &listen
	for name, value := range settings {
		f.settings[name] = &value
	}
	ctx, stop := context.WithCancel(t.Context())
	s := &serving{t: t, Log: new(testkit.Log), stop: stop, ended: make(chan error, 1)}
	go func() { s.ended <- serve(ctx, f, s.Log) }() // ends with the test's context
	address := s.Wait(t, "msg=listening address=")
	s.addr, _, _ = strings.Cut(address, " ")
	return s
}

// end stops the gateway and returns its error.
func (s *serving) end() error {
	s.t.Helper()
	s.stop()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(testkit.Patience):
		s.t.Fatalf("the gateway does not stop:\n%s", s)
		return nil
	}
}

// get sends a GET request to the gateway and returns the response and its body.
func (s *serving) get(path string) (*http.Response, string) {
	s.t.Helper()
	return s.getAs("", path)
}

// getAs is get with a token.
func (s *serving) getAs(token, path string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(body)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func hangUp(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// --accept-loss is for a log that was damaged: where none is, the flag is a mistake, or the folder.
func TestServe_AcceptLossWithoutLog(t *testing.T) {
	data, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "meup.yaml")
	writeFile(t, file, serveConfig)
	for _, had := range []bool{false, true} {
		s := startServeFlags(t, serveFlags{config: file, acceptLoss: true}, map[string]string{"data": data})
		testkit.Eventually(t, "the gateway is ready", func() bool {
			resp, _ := s.get("/readyz")
			return resp.StatusCode == http.StatusOK
		})
		if err := s.end(); err != nil {
			t.Error(err)
		}
		if warned := strings.Contains(s.String(), "--accept-loss has no effect"); warned == had {
			t.Errorf("a log before the start: %t, a warning that nothing was lost: %t\n%s", had, warned, s)
		}
	}
}

func TestServe_LogOutOfReach(t *testing.T) {
	nats, data := testkit.FreeAddress(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "log"), 0o700); err != nil { // the layout before NATS
		t.Fatal(err)
	}
	s := startServe(t, serveConfig, map[string]string{"nats": "nats://" + nats, "data": data})
	if line := s.Wait(t, "the data folder contains an embedded log, which is ignored"); !strings.Contains(line, filepath.Join(data, "log")) {
		t.Errorf("the warning: %s", line)
	}
	if resp, body := s.get("/healthz"); resp.StatusCode != http.StatusOK {
		t.Errorf("/healthz: %d %s", resp.StatusCode, body)
	}
	resp, body := s.get("/readyz")
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"reason":"starting: the log is not open yet"`) || strings.Contains(body, nats) {
		t.Errorf("/readyz: %d %s", resp.StatusCode, body)
	}
	for _, path := range []string{"/", "/version", "/api/spaces", "/api/spaces/lab/envelopes", "/ws?space=lab", "/nowhere"} {
		resp, body := s.get(path)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, `"error":"unavailable"`) {
			t.Errorf("%s: %d %v %s", path, resp.StatusCode, resp.Header, body)
		}
	}
	hangUp(t) // unhandled, it would end the test's process

	host, port, err := net.SplitHostPort(nats)
	if err != nil {
		t.Fatal(err)
	}
	server, err := natsembed.Start(t.Context(), natsembed.Options{Dir: t.TempDir(), Listen: net.JoinHostPort(host, port)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s.Wait(t, "msg=serving address=")
	s.Wait(t, "configuration reloaded")
	// The streams may be followed again after the connection was made.
	testkit.Eventually(t, "the gateway is ready", func() bool {
		resp, _ := s.get("/readyz")
		return resp.StatusCode == http.StatusOK
	})
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

func TestServe_StopLogOutOfReach(t *testing.T) {
	s := startServe(t, serveConfig, map[string]string{"nats": "nats://" + testkit.FreeAddress(t), "data": t.TempDir()})
	if err := s.end(); err != nil {
		t.Errorf("%v\n%s", err, s)
	}
}

// A pipe without a writer blocks the process that opens it, like a disk that
// does not answer.
func TestServe_StopDiskHangs(t *testing.T) {
	data := t.TempDir()
	log := filepath.Join(data, "log")
	s := startServe(t, serveConfig, map[string]string{"data": data})
	s.Wait(t, "msg=serving address=")
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	manifests, err := filepath.Glob(filepath.Join(log, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("no manifest in %s: %v", log, err)
	}
	for _, name := range manifests {
		if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s = startServe(t, "drain_timeout: 1s\n"+serveConfig, map[string]string{"data": data})
	if err := s.end(); !errors.Is(err, gateway.ErrNotClosed) {
		t.Errorf("%v\n%s", err, s)
	}
	for _, name := range manifests { // let the opening fail, so that it ends
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
}

func TestServe_LogUnopenable(t *testing.T) {
	data := t.TempDir()
	writeFile(t, filepath.Join(data, "log"), "no folder")
	s := startServe(t, serveConfig, map[string]string{"data": data})
	select {
	case err := <-s.ended:
		if err == nil || !strings.Contains(err.Error(), "open the log") {
			t.Errorf("got %v", err)
		}
	case <-time.After(testkit.Patience):
		t.Fatal("it does not end")
	}
}

func TestServe_BadSetting(t *testing.T) {
	for setting, value := range map[string]string{
		"listen": "nowhere", "nats": "http://nonsense", "log-level": "INFO+2", "log-format": "xml",
	} {
		t.Run(setting, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "meup.yaml")
			writeFile(t, file, serveConfig)
			f := serveFlags{config: file, settings: map[string]*string{setting: &value}}
			var usage *program.UsageError
			if err := serve(t.Context(), f, io.Discard); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "--"+setting+": ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// keyPair writes a certificate with a serial number, and its key.
func keyPair(t *testing.T, dir string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	writeFile(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

func TestServe_ReloadOfTheCertificate(t *testing.T) {
	dir := t.TempDir()
	keyPair(t, dir, 1)
	file := filepath.Join(dir, "meup.yaml")
	writeFile(t, file, "tls: {cert: cert.pem, key: key.pem}\ndata: ':memory:'\n"+serveConfig)
	s := startServeFile(t, file, nil)
	serial := func() int64 {
		t.Helper()
		d := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := d.DialContext(t.Context(), "tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("serial %d before the reload", got)
	}
	s.Wait(t, "msg=serving address=")

	keyPair(t, dir, 2)
	hangUp(t)
	s.Wait(t, "configuration reloaded")
	if got := serial(); got != 2 {
		t.Errorf("serial %d after the reload", got)
	}

	cert, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	keyPair(t, dir, 3)
	writeFile(t, filepath.Join(dir, "cert.pem"), string(cert)) // the key belongs to another certificate
	hangUp(t)
	if line := s.Wait(t, `msg="configuration fault"`); !strings.Contains(line, "do not work together") {
		t.Errorf("reported: %s", line)
	}
	s.Wait(t, "configuration not reloaded")
	if got := serial(); got != 2 {
		t.Errorf("serial %d after a bad pair", got)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// With --watch, a changed certificate is used without a signal.
func TestServe_WatchesTheCertificate(t *testing.T) {
	dir := t.TempDir()
	keyPair(t, dir, 1)
	file := filepath.Join(dir, "meup.yaml")
	writeFile(t, file, "tls: {cert: cert.pem, key: key.pem}\ndata: ':memory:'\n"+serveConfig)
	s := startServeFlags(t, serveFlags{config: file, watch: true}, nil)
	s.Wait(t, "msg=serving address=")
	keyPair(t, dir, 2)
	s.Wait(t, "TLS certificate replaced")
	if strings.Contains(s.String(), "configuration reloaded") {
		t.Errorf("the configuration was read again:\n%s", s)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

func TestServe_DataFolderIsPrivate(t *testing.T) {
	for name, prepare := range map[string]func(data string) error{
		"new": func(string) error { return nil },
		"wide": func(data string) error {
			return errors.Join(os.Mkdir(data, 0o755), os.Mkdir(filepath.Join(data, "log"), 0o755),
				os.WriteFile(filepath.Join(data, "log", "stray"), nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			if err := prepare(data); err != nil {
				t.Fatal(err)
			}
			s := startServe(t, serveConfig, map[string]string{"data": data})
			s.Wait(t, "msg=serving address=")
			if err := s.end(); err != nil {
				t.Fatal(err)
			}
			files := 0
			err := filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := e.Info()
				if err == nil && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has mode %o", path, info.Mode().Perm())
				}
				files++
				return err
			})
			if err != nil || files < 3 {
				t.Errorf("%d files, %v", files, err)
			}
		})
	}
}

// A second gateway on the same address names the conflict and the way out.
func TestServe_AddressInUse(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, address := filepath.Join(t.TempDir(), "meup.yaml"), l.Addr().String()
	writeFile(t, file, serveConfig)
	err = serve(t.Context(), serveFlags{config: file, settings: map[string]*string{"listen": &address}}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "another process listens there") || !strings.Contains(err.Error(), "--listen") {
		t.Error(err)
	}
}

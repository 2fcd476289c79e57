package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

const (
	syscallTerm = syscall.SIGTERM
	syscallHup  = syscall.SIGHUP
)

// post sends an envelope over HTTP and returns the error's code, "" if it was
// admitted.
func post(t *testing.T, addr, who, envelope string) string {
	t.Helper()
	return postBy(t, http.DefaultClient, addr, who, envelope)
}

// postWhenServed is post by patient. The envelope has an id, or may be sent twice.
func postWhenServed(t *testing.T, addr, who, envelope string) string {
	t.Helper()
	return postBy(t, patient, addr, who, envelope)
}

func postBy(t *testing.T, c *http.Client, addr, who, envelope string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/api/spaces/lab/envelopes", strings.NewReader(envelope))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+who+"-token-for-tests")
	resp, err := c.Do(req)
	if err != nil {
		return "unreachable"
	}
	defer resp.Body.Close()
	var refused protocol.Error
	if err := json.NewDecoder(resp.Body).Decode(&refused); err != nil {
		t.Fatal(err)
	}
	return string(refused.Code)
}

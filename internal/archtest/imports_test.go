package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/meup-protocol/meup"

// mayImport says for every package which others of this repository it may
// import, tests aside. A package that is not listed is a fault: whoever adds
// one decides here where it stands.
//
// Three lines matter most. The protocol stands on the standard library alone,
// and a client on the protocol alone. What decides (space) knows a log only by
// its interface. Our own agents come in by the front door, as a client does.
var mayImport = map[string][]string{
	"protocol":   {},
	"schemas":    {"protocol"},
	"client":     {"protocol"},
	"client/api": {"protocol"},

	// Pure parts: values in, values out.
	"internal/frame":              {},
	"internal/pmap":               {},
	"internal/capability":         {"protocol", "internal/pmap"},
	"internal/limit":              {"protocol"},
	"internal/redact":             {},
	"internal/safety":             {"protocol", "internal/redact"},
	"internal/safety/safetytest":  {},
	"internal/turns":              {"protocol", "internal/answers", "internal/proposal", "internal/space"},
	"internal/answers":            {"protocol"},
	"internal/gateway/transcript": {"protocol", "internal/turns"},

	// The log.
	"internal/journal":               {"protocol"},
	"internal/journal/entrydb":       {"protocol", "internal/journal"},
	"internal/journal/memory":        {"protocol", "internal/journal"},
	"internal/journal/pebblejournal": {"protocol", "internal/journal", "internal/journal/entrydb"},
	"internal/journal/natsjournal":   {"protocol", "internal/journal", "internal/journal/entrydb", "internal/natsconn"},
	"internal/journal/journaltest":   {"protocol", "internal/journal"},

	// What gateways of a cluster share besides the log.
	"internal/natsconn":        {},
	"internal/gateway/cluster": {"protocol", "internal/natsconn"},

	// The gateway.
	"internal/gateway/auth":    {"protocol"},
	"internal/gateway/config":  {"protocol", "internal/capability", "internal/limit", "internal/redact", "internal/safety"},
	"internal/gateway/metrics": {"protocol"},
	"internal/space":           {"protocol", "internal/capability", "internal/frame", "internal/journal", "internal/pmap", "internal/proposal"},
	"internal/gateway/access":  {"protocol", "internal/gateway/auth", "internal/space"},
	"internal/gateway/ws":      {"protocol", "internal/gateway/access", "internal/gateway/auth", "internal/frame", "internal/space"},
	"internal/gateway/httpapi": {
		"protocol", "internal/gateway/access", "internal/gateway/auth", "internal/frame", "internal/limit", "internal/space",
		"internal/gateway/transcript", "internal/turns",
	},
	"internal/gateway/web": {},

	// How the page is built, and looked at by tests.
	"internal/gateway/web/bundle":   {},
	"internal/gateway/web/generate": {"internal/gateway/web/bundle"},
	"internal/webtest":              {},

	"internal/webtest/pagetest": {"protocol", "client", "internal/meuptest", "internal/webtest"},

	// Assembly: sees every part of a gateway, and no agent.
	"internal/gateway": {
		"protocol", "schemas", "internal/gateway/access", "internal/gateway/auth", "internal/capability", "internal/gateway/cluster",
		"internal/gateway/config", "internal/gateway/httpapi", "internal/journal", "internal/journal/memory",
		"internal/journal/natsjournal", "internal/journal/pebblejournal", "internal/limit", "internal/gateway/metrics",
		"internal/natsconn", "internal/privatedir", "internal/redact", "internal/safety", "internal/space", "internal/turns", "internal/gateway/web", "internal/gateway/ws",
	},
	"internal/meuptest": {"protocol", "client", "internal/gateway/config", "internal/gateway", "internal/gateway/httpapi"},

	// Our own agents.
	"internal/agent/docserver":             {},
	"internal/program":                     {"internal/terminal/termsafe"},
	"client/reasoner/wire":                 {},
	"client/reasoner":                      {"client/reasoner/wire", "internal/natsconn"},
	"internal/agent/telemetry":             {"internal/agent/llm", "internal/redact"},
	"internal/agent/llm":                   {},
	"internal/agent/llm/llmhttp":           {"internal/agent/llm"},
	"internal/agent/llm/openai":            {"internal/agent/llm", "internal/agent/llm/llmhttp"},
	"internal/agent/llm/anthropic":         {"internal/agent/llm", "internal/agent/llm/llmhttp"},
	"internal/agent/llm/models":            {"internal/agent/llm", "internal/agent/llm/llmhttp", "internal/agent/llm/anthropic", "internal/agent/llm/openai"},
	"internal/agent/llm/llmtest":           {"internal/agent/llm"},
	"internal/agent/contextwindow":         {"internal/agent/llm"},
	"internal/agent/mcptools":              {"protocol"},
	"internal/agent/mcptools/mcptoolstest": {},
	"internal/agent/planner":               {"protocol", "client/reasoner", "client/reasoner/wire", "internal/agent/llm", "internal/agent/contextwindow"},
	"internal/agent/bridge":                {"protocol", "client", "internal/agent/mcptools"},
	"internal/natsembed":                   {"internal/privatedir"},
	"internal/reasoner":                    {"client/reasoner/wire", "internal/agent/llm", "internal/agent/llm/models", "internal/agent/planner", "internal/agent/contextwindow", "internal/agent/telemetry", "schemas"},
	"internal/reasoner/queue":              {"client/reasoner/wire", "internal/reasoner", "internal/natsconn"},
	"internal/agent/mind":                  {"client/reasoner", "internal/agent/llm", "internal/agent/llm/models", "internal/agent/planner", "internal/agent/contextwindow", "internal/agent/telemetry"},
	"internal/agent":                       {"protocol", "client", "client/api", "internal/agent/llm", "internal/agent/mcptools", "internal/agent/planner", "internal/proposal", "internal/agent/contextwindow", "internal/redact", "internal/agent/telemetry"},
	"internal/privatedir":                  {},
	"internal/earlysignal":                 {},
	"internal/terminal/termsafe":           {},
	"internal/proposal":                    {"protocol"},
	"internal/terminal/blockrender":        {"protocol", "client/api", "internal/terminal/termsafe"},
	"internal/terminal/tui":                {"protocol", "client", "client/api", "internal/answers", "internal/proposal", "internal/terminal/blockrender", "internal/terminal/termsafe"},

	"internal/archtest": {},
}

// seesEverybody are the packages that may import whatever they like; nobody
// may import them.
func seesEverybody(name string) bool {
	return strings.HasPrefix(name, "cmd/") || name == "bench" || strings.HasPrefix(name, "bench/") ||
		name == "e2e" || strings.HasPrefix(name, "e2e/") || strings.HasPrefix(name, "scripts/")
}

// goPackage is what the test needs of the output of go list.
type goPackage struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	// Without a stamp, since the clone may belong to somebody else.
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-buildvcs=false", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v: %s", err, &stderr)
	}
	var list []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// own returns the name of a package of this repository without the module.
func own(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name, _ := own(p.ImportPath)
		if seesEverybody(name) {
			continue
		}
		allowed, listed := mayImport[name]
		if !listed {
			t.Errorf("%s is new: say in mayImport what it may import", name)
			continue
		}
		for _, path := range p.Imports {
			if imported, ours := own(path); ours && !slices.Contains(allowed, imported) {
				t.Errorf("%s must not import %s", name, imported)
			}
		}
	}
}

// TestProtocolStandsAlone: a client in Go costs nothing but the standard
// library.
func TestProtocolStandsAlone(t *testing.T) {
	for _, p := range packages(t) {
		if name, _ := own(p.ImportPath); name != "protocol" {
			continue
		}
		for _, path := range p.Imports {
			if host, _, _ := strings.Cut(path, "/"); strings.Contains(host, ".") {
				t.Errorf("protocol must not import %s", path)
			}
		}
		return
	}
	t.Fatal("there is no package protocol")
}

// TestFrontDoor: what our own agents are made of reaches nothing of a gateway,
// not through others either.
func TestFrontDoor(t *testing.T) {
	inside := []string{
		"internal/space", "internal/journal", "internal/gateway", "internal/gateway/ws",
		"internal/gateway/httpapi", "internal/gateway/access", "internal/capability",
	}
	for _, agent := range []string{"client", "internal/agent", "internal/agent/planner", "internal/agent/mcptools", "internal/terminal/tui"} {
		for _, reached := range reachable(agent) {
			if slices.Contains(inside, reached) {
				t.Errorf("%s reaches %s past the front door", agent, reached)
			}
		}
	}
}

// reachable follows mayImport, to which TestImports holds the packages.
func reachable(from string) []string {
	seen := []string{from}
	for i := 0; i < len(seen); i++ {
		for _, next := range mayImport[seen[i]] {
			if !slices.Contains(seen, next) {
				seen = append(seen, next)
			}
		}
	}
	return seen[1:]
}

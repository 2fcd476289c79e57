package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/meup-protocol/meup"

// floors are the rooms of the repository: folders with packages that belong together. A
// package may import those of its own room and of the rooms on lower floors, tests
// excluded. A package belongs to the room with the longest name that is its own or above it.
var floors = [][]string{
	{"protocol", "internal/kit"},
	{"schemas", "internal/exchange"},
	{"client", "internal/journal", "internal/capability", "internal/safety"},
	{"internal/turns", "internal/search", "internal/mcp"},
	{"internal/space", "internal/acp"},
	{"internal/gateway", "internal/agent"},
	{"client/agent", "internal/agent/review", "internal/terminal", "internal/reasoner"},
	{"cmd", "sdk", "bench", "e2e", "examples", "scripts", "internal/testing"},
}

// never lists what the floors would allow and the design does not: room -> what it must not
// reach, directly or through others.
var never = map[string][]string{
	// A client needs the protocol; agents, terminals and reasoners use the front door, like
	// everybody else's.
	"client":         {"schemas", "internal/exchange", "internal/journal", "internal/capability", "internal/safety"},
	"client/agent":   {"internal/space", "internal/journal", "internal/gateway", "internal/capability"},
	"internal/agent": {"internal/space", "internal/journal", "internal/gateway", "internal/capability"},
	// A reviewer judges by the patterns of capabilities; what it may do is the gateway's to say.
	"internal/agent/review": {"internal/space", "internal/journal", "internal/gateway"},
	"internal/terminal":     {"internal/space", "internal/journal", "internal/gateway", "internal/capability"},
	"internal/reasoner":     {"internal/space", "internal/journal", "internal/gateway", "internal/capability"},
	"internal/mcp":          {"internal/space", "internal/journal", "internal/gateway", "internal/capability"},
	// A space uses a log through its interface.
	"internal/space": {"internal/journal/pebblejournal", "internal/journal/natsjournal", "internal/journal/entrydb"},
}

// though lists packages that a room may reach in spite of never.
var though = map[string]string{
	"internal/terminal": "internal/capability/argument", // it translates the permissions of other programs
}

// An adapter is a client of the gateway's own HTTP API (docs/adr/0046): what imports
// adapterBase must not import the packages of pastTheAPI, nor a log.
const adapterBase = "internal/gateway/adapter"

var pastTheAPI = []string{
	"internal/space", "internal/space/admission", "internal/space/authority", "internal/space/ring",
	"internal/gateway/config", "internal/gateway/derived", "internal/gateway/httpapi", "internal/gateway/ws",
}

// The packages that serve connections use the space, and no log, configuration or one
// another. neverDirectly lists what they must not import themselves, besides a log.
var neverDirectly = map[string][]string{
	"internal/gateway/httpapi": {"internal/gateway/config", "internal/gateway/ws"},
	"internal/gateway/ws":      {"internal/gateway/config", "internal/gateway/httpapi"},
}

// barred returns those imports of a package that it must not have itself.
func barred(name string, imports []string) (list []string) {
	not, serves := neverDirectly[name]
	if name == adapterBase || name != "internal/gateway" && slices.Contains(imports, adapterBase) {
		not, serves = pastTheAPI, true
	}
	for _, imported := range imports {
		if serves && (slices.Contains(not, imported) || below(imported, "internal/journal")) {
			list = append(list, imported)
		}
	}
	return list
}

func TestBarred(t *testing.T) {
	for _, c := range []struct {
		name    string
		imports []string
		want    []string
	}{
		{"internal/gateway/soap", []string{adapterBase, "internal/space", "protocol"}, []string{"internal/space"}},
		{"internal/gateway/soap/wsdl", []string{adapterBase, "internal/journal/entrydb"}, []string{"internal/journal/entrydb"}},
		{"internal/gateway/soap", []string{adapterBase, "internal/space/limit", "internal/exchange"}, nil},
		{adapterBase, []string{"internal/gateway/httpapi"}, []string{"internal/gateway/httpapi"}},
		{"internal/gateway/ws", []string{"internal/space", "internal/gateway/config"}, []string{"internal/gateway/config"}},
		{"internal/gateway/archive", []string{"internal/journal"}, nil},
		{"internal/gateway", []string{adapterBase, "internal/space", "internal/journal"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := barred(c.name, c.imports)
			if !slices.Equal(got, c.want) {
				t.Errorf("%v: %v, want %v", c.imports, got, c.want)
			}
		})
	}
}

// goPackage is the part of the output of go list that the test uses.
type goPackage struct {
	ImportPath string
	Imports    []string
}

// packages returns all packages of the repository. The tests share them.
func packages(t *testing.T) []goPackage {
	t.Helper()
	list, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var listPackages = sync.OnceValues(func() (list []goPackage, err error) {
	// Without VCS stamping, which fails if the clone belongs to another user.
	cmd := exec.CommandContext(context.Background(), "go", "list", "-e", "-buildvcs=false", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w: %s", err, &stderr)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
})

// own returns the name of a package of this repository without the module.
func own(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// roomOf returns the room of a package and its floor, -1 if it has none.
func roomOf(name string) (room string, floor int) {
	floor = -1
	for i, rooms := range floors {
		for _, r := range rooms {
			if below(name, r) && len(r) > len(room) {
				room, floor = r, i
			}
		}
	}
	return room, floor
}

// below reports whether a package is the one at top or in a folder below it.
func below(name, top string) bool { return name == top || strings.HasPrefix(name, top+"/") }

func TestImports(t *testing.T) {
	imports := map[string][]string{} // of every package: those of this repository
	for _, p := range packages(t) {
		name, _ := own(p.ImportPath)
		room, floor := roomOf(name)
		if floor < 0 {
			t.Errorf("%s has no room: add it to floors", name)
		}
		for _, path := range p.Imports {
			imported, ours := own(path)
			if !ours {
				continue
			}
			imports[name] = append(imports[name], imported)
			if r, f := roomOf(imported); r != room && f >= floor && floor < len(floors)-1 {
				t.Errorf("%s must not import %s: %s is not on a floor below %s", name, imported, r, room)
			}
		}
	}
	for name, list := range imports {
		for _, imported := range barred(name, list) {
			t.Errorf("%s must not import %s", name, imported)
		}
		room, _ := roomOf(name)
		for _, reached := range reachable(imports, name) {
			for _, forbidden := range never[room] {
				if below(reached, forbidden) && reached != though[room] {
					t.Errorf("%s must not reach %s", name, reached)
				}
			}
		}
	}
}

// reachable returns all packages that a package imports, directly or through others.
func reachable(imports map[string][]string, from string) []string {
	seen := []string{from}
	for i := 0; i < len(seen); i++ {
		for _, next := range imports[seen[i]] {
			if !slices.Contains(seen, next) {
				seen = append(seen, next)
			}
		}
	}
	return seen[1:]
}

// TestProtocolStandsAlone checks that the protocol depends on the standard library only.
func TestProtocolStandsAlone(t *testing.T) {
	for _, p := range packages(t) {
		if name, _ := own(p.ImportPath); !below(name, "protocol") {
			continue
		}
		for _, path := range p.Imports {
			host, _, _ := strings.Cut(path, "/")
			if imported, ours := own(path); strings.Contains(host, ".") && !(ours && below(imported, "protocol")) {
				t.Errorf("%s must not import %s", p.ImportPath, path)
			}
		}
	}
}

// TestGateway_LeavesOut checks that the gateway, which is the first program that
// people build, does not contain large libraries that it has no use for.
func TestGateway_LeavesOut(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/meup-gateway").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		for _, large := range []string{
			"charm.land/", "github.com/chromedp/", "github.com/evanw/esbuild", "github.com/grpc-ecosystem/",
			"github.com/nats-io/nats-server/", "go.opentelemetry.io/otel/exporters/", "google.golang.org/grpc",
		} {
			if strings.HasPrefix(path, large) {
				t.Errorf("cmd/meup-gateway must not import %s", strings.TrimSpace(path))
			}
		}
	}
}

package models

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
)

// ollamaVariable is the environment variable with the address of Ollama, in Ollama's format.
const ollamaVariable = "OLLAMA_HOST"

const (
	findTimeout = time.Second // for the answer of a local server
	maxListing  = 1 << 20     // bytes of its list of models
)

// listedName matches the names of models that are listed: they are printed.
var listedName = regexp.MustCompile(`^[\p{L}\p{N}_.:/@-]{1,100}$`)

// Find returns the name of a model that can be used here, and why: that of FromEnvironment, or
// the first one of a local server, Ollama or LM Studio. It asks these for their models, without
// a key. A server at OLLAMA_HOST that does not answer has the model of the documentation. Of the
// options, Getenv and HTTP count.
func Find(ctx context.Context, o Options) (name, why string, ok bool) {
	name, ok = FromEnvironment(o.Getenv)
	if ok {
		p, _, _ := parse(name) // it is a valid one
		return name, p.variable + " is set", true
	}
	for _, p := range providers {
		if p.server == "" {
			continue
		}
		base, err := p.base("", o.Getenv)
		if err != nil {
			continue
		}
		model := firstModel(ctx, o.HTTP, base)
		switch {
		case model != "":
			return p.name + ":" + model, p.server + " answers at " + base.Host, true
		case p.name == "ollama" && value(orEmpty(o.Getenv), ollamaVariable) != "":
			return "ollama:qwen3", ollamaVariable + " is set", true
		}
	}
	return "", "", false
}

// firstModel returns the first model in a server's list that can chat, by its name; "": there
// is none, or the server does not answer.
func firstModel(ctx context.Context, client *http.Client, base baseURL) string {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("models").String(), nil)
	if err != nil {
		return ""
	}
	if client == nil { // its connections end with the request
		client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	}
	resp, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close() //nolint:errcheck // it was read only
	var list struct {
		Data []struct{ ID string }
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(&list) != nil {
		return ""
	}
	for _, m := range list.Data {
		if listedName.MatchString(m.ID) && !strings.Contains(m.ID, "embed") {
			return m.ID
		}
	}
	return ""
}

// ollamaURL returns the base URL for OLLAMA_HOST, which may lack the scheme, the host or the port, and
// may be the address that the server listens on.
func ollamaURL(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if !found {
		scheme, rest, port = "http", address, "11434"
	}
	hostPort, folder, _ := strings.Cut(rest, "/")
	host := strings.Trim(hostPort, "[]")
	if h, p, err := net.SplitHostPort(hostPort); err == nil {
		host, port = h, p
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port), Path: path.Join("/", folder, "v1")}
	return u.String()
}

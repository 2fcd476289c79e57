package argument

import (
	"errors"
	"fmt"
	"net/netip"
	neturl "net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/protocol"
)

func mustURL(t testing.TB, text string) *URL {
	t.Helper()
	u, err := ParseURL(jsonValue(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return u
}

func TestURL_Match(t *testing.T) {
	const (
		every   = `{}`
		example = `{"host":"example.com"}`
		below   = `{"scheme":"https","host":"*.example.com"}`
		local   = `{"host":["127.0.0.1","::1"]}`
		ports   = `{"host":"example.com","port":[443,8443]}`
		v1      = `{"host":"example.com","path":["/v1/**","/health"]}`
		file    = `{"host":"example.com","path":"/a/*.txt"}`
		munich  = `{"host":"bücher.example"}`
	)
	for _, tt := range []struct {
		pattern, text string
		want          Verdict
	}{
		// Schemes.
		{every, "https://example.com/", Yes},
		{every, "http://example.com", Yes},
		{every, "HTTPS://example.com", Yes},
		{every, "ftp://example.com/", Maybe},
		{every, "wss://example.com/", Maybe},
		{`{"scheme":"wss"}`, "wss://example.com/", Yes},
		{`{"scheme":["https"]}`, "http://example.com/", No},
		{`{"scheme":["HTTPS"]}`, "https://example.com/", Yes},
		{every, "file:///etc/passwd", Maybe},
		{every, "javascript:alert(1)", Maybe},
		{every, "data:text/html,a", Maybe},
		{every, "mailto:a@example.com", Maybe},
		{example, "view-source:https://example.com/", Maybe},
		{example, "blob:https://example.com/a", Maybe},
		{example, "custom://example.com/", Maybe},
		{`{"scheme":"https"}`, "git+https://example.com/", Maybe},

		// Hosts.
		{example, "https://example.com/a?b#c", Yes},
		{example, "https://EXAMPLE.com", Yes},
		{example, "https://example.com./", Yes},
		{example, "https://example.com../", Maybe},
		{example, "https://.example.com/", Maybe},
		{example, "https://a..example.com/", Maybe},
		{example, "https://evilexample.com/", No},
		{example, "https://example.com.evil.com/", No},
		{example, "https://evil.com/example.com", No},
		{example, "https://evil.com/?example.com", No},
		{example, "https://evil.com/#example.com", No},
		{example, "https://evil.com?@example.com", No},
		{example, "https://evil.com#@example.com", No},
		{example, "https://www.example.com/", No},
		{example, "https://example.co/", No},
		{below, "https://www.example.com/", Yes},
		{below, "https://a.b.example.com./", Yes},
		{below, "https://example.com/", No},
		{below, "https://evilexample.com/", No},
		{below, "https://www.example.com.evil.com/", No},
		{below, "http://www.example.com/", No},
		{below, "https://1.2.3.4/", No},
		{`{"host":"*"}`, "https://1.2.3.4/", Yes},
		{`{"host":["*.a.com","b.com"]}`, "https://b.com/", Yes},
		{`{"host":"Example.COM."}`, "https://example.com/", Yes},
		{`{"host":"a_b.example.com"}`, "https://a_b.example.com/", Yes},

		// Texts that programs read in different ways.
		{example, "", Maybe},
		{example, "example.com", Maybe},
		{example, "/a", Maybe},
		{example, "//example.com/", Maybe},
		{example, "https:example.com/", Maybe},
		{example, "https:/example.com/", Maybe},
		{example, "https:///example.com/", Maybe},
		{example, "https://example.com@evil.com/", Maybe},
		{example, "https://evil.com@example.com/", Maybe},
		{example, "https://user:pass@example.com/", Maybe},
		{example, "https://example.com@example.com/", Maybe},
		{example, "https://@example.com/", Maybe},
		{example, `https://example.com\@evil.com/`, Maybe},
		{example, `https://evil.com\@example.com/`, Maybe},
		{example, `https:\\example.com\`, Maybe},
		{example, `https://example.com/\..`, Maybe},
		{example, " https://example.com/", Maybe},
		{example, "https://example.com/ ", Maybe},
		{example, "https://example.com/a b", Maybe},
		{example, "https://example.com/a\u00a0b", Maybe},
		{example, "https://exa\tmple.com/", Maybe},
		{example, "https://example.com/\n", Maybe},
		{example, "ht\ntps://evil.com/", Maybe},
		{example, "https://example.com\x00.evil.com/", Maybe},
		{example, "https://example.com/\xff", Maybe},
		{example, "https://example.com/\u202e", Maybe},
		{example, "https://ex%61mple.com/", Maybe},
		{example, "https://example.com%2f.evil.com/", Maybe},
		{example, "https://example.com%00/", Maybe},
		{example, "https://example.com/" + strings.Repeat("a", maxArgument), Maybe},
		{example, "https://exam\u00adple.com/", Maybe},
		{example, "https://[example.com]/", Maybe},
		{example, "https://example.com|evil.com/", Maybe},
		{example, "https://example.com\uff0fevil.com/", Maybe},
		{example, "https://evil.com\u2100.example.com/", Maybe},

		// Names that are not ASCII.
		{munich, "https://bücher.example/", Yes},
		{munich, "https://BÜCHER.example/", Yes},
		{munich, "https://xn--bcher-kva.example/", Yes},
		{munich, "https://XN--BCHER-KVA.example/", Yes},
		{munich, "https://bucher.example/", No},
		{munich, "https://bu\u0308cher.example/", Maybe},
		{munich, "https://b%C3%BCcher.example/", Maybe},
		{`{"host":"xn--bcher-kva.example"}`, "https://bücher.example/", Yes},
		{`{"host":"faß.de"}`, "https://faß.de/", Maybe},
		{`{"host":"fass.de"}`, "https://faß.de/", Maybe},
		{`{"host":"faß.de"}`, "https://xn--fa-hia.de/", Yes},
		{example, "https://ｅxample.com/", Maybe},
		{example, "https://example。com/", Maybe},
		{example, "https://ех\u0430mple.com/", No},
		{example, "https://xn--a/", Maybe},

		// Addresses.
		{local, "http://127.0.0.1/", Yes},
		{local, "http://[::1]/", Yes},
		{local, "http://[0:0:0:0:0:0:0:1]/", Yes},
		{local, "http://[0000::0001]/", Yes},
		{local, "http://[::ffff:127.0.0.1]/", Yes},
		{local, "http://[::FFFF:7f00:1]/", Yes},
		{local, "http://127.0.0.2/", No},
		{local, "http://[::2]/", No},
		{local, "http://localhost/", No},
		{local, "http://0x7f.1/", Maybe},
		{local, "http://0x7f000001/", Maybe},
		{local, "http://2130706433/", Maybe},
		{local, "http://017700000001/", Maybe},
		{local, "http://127.1/", Maybe},
		{local, "http://127.0.0.01/", Maybe},
		{local, "http://010.0.0.1/", Maybe},
		{local, "http://127.0.0.1./", Maybe},
		{local, "http://１２７.0.0.1/", Maybe},
		{local, "http://0x-1/", Maybe},
		{local, "http://256.0.0.1/", Maybe},
		{local, "http://[::1%25eth0]/", Maybe},
		{local, "http://[::1%eth0]/", Maybe},
		{local, "http://[fe80::1%25en0]/", Maybe},
		{example, "http://2130706433/", Maybe},
		{`{"host":"0x7f.1"}`, "http://127.0.0.1/", Yes},
		{`{"host":"2130706433"}`, "http://127.0.0.1/", Yes},
		{`{"host":"[::1]"}`, "http://[::1]/", Yes},
		{`{"host":"::ffff:127.0.0.1"}`, "http://127.0.0.1/", Yes},
		{`{"host":"*.com"}`, "http://1.2.3.4/", No},

		// Ports.
		{example, "https://example.com:443/", Yes},
		{example, "http://example.com:80/", Yes},
		{example, "https://example.com:/", Yes},
		{example, "http://example.com:443/", Maybe},
		{example, "https://example.com:8443/", Maybe},
		{example, "https://evil.com:8443/", No},
		{example, "https://example.com:0443/", Maybe},
		{example, "https://example.com:0/", Maybe},
		{example, "https://example.com:65536/", Maybe},
		{example, "https://example.com:443:443/", Maybe},
		{example, "https://example.com:-1/", Maybe},
		{example, "https://example.com:80a/", Maybe},
		{ports, "https://example.com/", Yes},
		{ports, "https://example.com:8443/", Yes},
		{ports, "http://example.com:8443/", Yes},
		{ports, "http://example.com/", No},
		{ports, "https://example.com:8080/", No},

		// Paths.
		{v1, "https://example.com/v1/a", Yes},
		{v1, "https://example.com/v1/", Yes},
		{v1, "https://example.com/v1/a/b?c=/v2", Yes},
		{v1, "https://example.com/health#a", Yes},
		{v1, "https://example.com/v1", No},
		{v1, "https://example.com/v2/a", No},
		{v1, "https://example.com/v10/a", No},
		{v1, "https://example.com/", No},
		{v1, "https://example.com", No},
		{v1, "https://example.com?/v1/", No},
		{v1, "https://example.com/a/v1/b", No},
		{v1, "https://example.com/V1/a", Maybe},
		{v1, "https://example.com/v1/../admin", Maybe},
		{v1, "https://example.com/v2/../v1/a", Maybe},
		{v1, "https://example.com/v1/a/../b", Yes},
		{v1, "https://example.com/v1/%2e%2e/admin", Maybe},
		{v1, "https://example.com/v1/.%2E/admin", Maybe},
		{v1, "https://example.com/v1/..%2fadmin", Maybe},
		{v1, "https://example.com/v1/..%5cadmin", Maybe},
		{v1, "https://example.com/v1/%252e%252e/admin", Maybe},
		{v1, "https://example.com/v1/%00", Maybe},
		{v1, "https://example.com/v1/..;/admin", Maybe},
		{v1, "https://example.com/v1;a=b/c", Maybe},
		{v1, "https://example.com/v1%3b/c", Maybe},
		{v1, "https://example.com/v1/%61", Yes},
		{v1, "https://example.com/%761/a", Yes},
		{v1, "https://example.com//v1/a", Maybe},
		{v1, "https://example.com/v1//a", Yes},
		{v1, "https://example.com/v1/%zz", Maybe},
		{v1, "https://evil.com/v1/%2e%2e/a", No},
		{file, "https://example.com/a/b.txt", Yes},
		{file, "https://example.com/a/b/c.txt", No},
		{file, "https://example.com/a/é.txt", Yes},
		{file, "https://example.com/a/%C3%A9.txt", Yes},
		{file, "https://example.com/a/b.txt/", No},
		{file, "https://example.com/a//b.txt", Maybe},
		{file, "https://example.com/a//../b.txt", Maybe},
		{`{"path":"**"}`, "https://example.com", Yes},
	} {
		t.Run(fmt.Sprintf("%s %.50q", tt.pattern, tt.text), func(t *testing.T) {
			if got := mustURL(t, tt.pattern).Match(tt.text); got != tt.want {
				t.Errorf("%s, want %s", verdictName[got], verdictName[tt.want])
			}
		})
	}
}

func TestParseURL_Errors(t *testing.T) {
	for _, tt := range []struct{ text, pointer string }{
		{`"https://a"`, ""},
		{`[]`, ""},
		{`{"hosts":"a"}`, "/hosts"},
		{`{"scheme":[]}`, "/scheme"},
		{`{"scheme":"https://"}`, "/scheme"},
		{`{"scheme":"file"}`, "/scheme"},
		{`{"scheme":["https",""]}`, "/scheme/1"},
		{`{"host":[]}`, "/host"},
		{`{"host":1}`, "/host"},
		{`{"host":"https://a"}`, "/host"},
		{`{"host":"a/b"}`, "/host"},
		{`{"host":"a\\b"}`, "/host"},
		{`{"host":"a:443"}`, "/host"},
		{`{"host":"[::1]:443"}`, "/host"},
		{`{"host":"u@a"}`, "/host"},
		{`{"host":"a?b"}`, "/host"},
		{`{"host":"a%62"}`, "/host"},
		{`{"host":"a b"}`, "/host"},
		{`{"host":"a.*.com"}`, "/host"},
		{`{"host":"a*.com"}`, "/host"},
		{`{"host":"**"}`, "/host"},
		{`{"host":"*."}`, "/host"},
		{`{"host":"*.*.com"}`, "/host"},
		{`{"host":"."}`, "/host"},
		{`{"host":"a..b"}`, "/host"},
		{`{"host":".a"}`, "/host"},
		{`{"host":"*.1.2.3.4"}`, "/host"},
		{`{"host":"*.::1"}`, "/host"},
		{`{"host":"256.1.1.1"}`, "/host"},
		{`{"host":"::1%eth0"}`, "/host"},
		{`{"host":"xn--a"}`, "/host"},
		{`{"port":[]}`, "/port"},
		{`{"port":0}`, "/port"},
		{`{"port":[443,65536]}`, "/port/1"},
		{`{"port":"443"}`, "/port"},
		{`{"port":80.5}`, "/port"},
		{`{"path":[]}`, "/path"},
		{`{"path":"a"}`, "/path"},
		{`{"path":"/a?b"}`, "/path"},
		{`{"path":"/%61"}`, "/path"},
		{`{"path":"/a/../b"}`, "/path"},
		{`{"path":"/a//b"}`, "/path"},
		{`{"path":"/a;b"}`, "/path"},
		{`{"path":"/` + strings.Repeat("a", maxGlob) + `"}`, "/path"},
		{`{"path":[` + strings.Repeat(`"/`+strings.Repeat("a", maxGlob-1)+`",`, 4) + `"/a"]}`, "/path/4"},
	} {
		t.Run(fmt.Sprintf("%.60s", tt.text), func(t *testing.T) {
			_, err := ParseURL(jsonValue(t, tt.text))
			var e *Error
			if !errors.As(err, &e) || e.Pointer != tt.pointer {
				t.Errorf("%v, want an error at %q", err, tt.pointer)
			}
		})
	}
}

func TestURL_String(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "http or https URLs",
		`{"scheme":["https"],"host":["*.Example.com","0x7f.1","*"],"port":[443,8443],"path":["/v1/**"]}`: "https URLs of *.example.com or 127.0.0.1 or any host, port 443 or 8443, path /v1/**",
	} {
		if got := mustURL(t, text).String(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestURL_Covers(t *testing.T) {
	for _, tt := range []struct {
		u, other string
		want     bool
	}{
		{`{}`, `{"scheme":"https","host":"a.com","path":"/a"}`, true},
		{`{}`, `{"scheme":"ftp"}`, false},
		{`{"scheme":"https"}`, `{}`, false},
		{`{}`, `{"scheme":"https","port":443}`, true},
		{`{}`, `{"port":443}`, false},
		{`{}`, `{"port":8443}`, false},
		{`{"port":[80,443]}`, `{}`, true},
		{`{"port":443}`, `{"scheme":"https"}`, true},
		{`{"port":443}`, `{}`, false},
		{`{"port":[443,8443]}`, `{"scheme":"https","port":8443}`, true},
		{`{"host":"a.com"}`, `{}`, false},
		{`{"host":"*"}`, `{}`, true},
		{`{"host":"*.a.com"}`, `{"host":"b.a.com"}`, true},
		{`{"host":"*.a.com"}`, `{"host":"*.b.a.com"}`, true},
		{`{"host":"*.a.com"}`, `{"host":"*.a.com"}`, true},
		{`{"host":"*.b.a.com"}`, `{"host":"*.a.com"}`, false},
		{`{"host":"*.a.com"}`, `{"host":"a.com"}`, false},
		{`{"host":"a.com"}`, `{"host":"*.a.com"}`, false},
		{`{"host":"*.a.com"}`, `{"host":"*"}`, false},
		{`{"host":"127.0.0.1"}`, `{"host":"2130706433"}`, true},
		{`{"path":"/v1/**"}`, `{"path":["/v1/a/*","/v1/b"]}`, true},
		{`{"path":"/v1/**"}`, `{}`, false},
		{`{"path":"/v1/*"}`, `{"path":"/v1/**"}`, false},
	} {
		t.Run(tt.u+" "+tt.other, func(t *testing.T) {
			if got := mustURL(t, tt.u).Covers(mustURL(t, tt.other)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// someURLPattern draws a matcher of few names, so that some cover others.
func someURLPattern(t *rapid.T, label string) *URL {
	members := []string{}
	for key, values := range map[string][]string{
		"scheme": {`"http"`, `["https"]`, `["http","https"]`, `"ws"`},
		"host":   {`"a.com"`, `"*.a.com"`, `"*"`, `["a.com","*.b.a.com"]`, `"127.0.0.1"`},
		"port":   {`80`, `443`, `[80,443]`, `[80,8080]`},
		"path":   {`"/a"`, `"/a/**"`, `"/**"`, `"**"`, `"/*"`, `["/a","/a/*"]`},
	} {
		one := rapid.SampledFrom(append(values, "")).Draw(t, label+" "+key)
		if one != "" {
			members = append(members, `"`+key+`":`+one)
		}
	}
	doc, err := protocol.ParseJSON([]byte("{"+strings.Join(members, ",")+"}"), 8)
	if err != nil {
		t.Fatal(err)
	}
	u, err := ParseURL(doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestURL_CoversWhatMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u, other := someURLPattern(t, "u"), someURLPattern(t, "other")
		if !u.Covers(u) {
			t.Fatalf("%v does not cover itself", u)
		}
		text := rapid.SampledFrom([]string{"http", "https", "ws", "ftp"}).Draw(t, "scheme") + "://" +
			rapid.SampledFrom([]string{"a.com", "b.a.com", "c.b.a.com", "127.0.0.1", "x.org"}).Draw(t, "host") +
			rapid.SampledFrom([]string{"", ":80", ":443", ":8080"}).Draw(t, "port") +
			rapid.SampledFrom([]string{"", "/", "/a", "/a/", "/a/b", "/a/b/c", "//a", "/a/../b"}).Draw(t, "path")
		if u.Covers(other) && other.Match(text) == Yes && u.Match(text) != Yes {
			t.Fatalf("%v covers %v, which alone matches %s", u, other, text)
		}
	})
}

// authority finds scheme, host and port of a URL without the parsers that Match uses.
var authority = regexp.MustCompile(`^([A-Za-z]+)://([^/?#\\@\s:\[\]%]+|\[[0-9A-Fa-f:.]+\])(?::([1-9][0-9]*)?)?(/[^?#]*)?(?:[?#].*)?$`)

// FuzzURL checks what is certain against net/url and a regular expression.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/a/../b?c#d", "http://127.0.0.1:80/", "http://[::ffff:127.0.0.1]/", "http://[1:2:3:4:5:6:7.8.9.10]/", `http://a\@b/`,
		"https://user@www.example.com:443/", "https://bücher.example/%61", "http://0x7f.1/", "https:///example.com", "https://example.com.:443", "http://example.com/v1//a;b",
	} {
		f.Add(seed)
	}
	patterns := map[string]*URL{}
	for _, text := range []string{`{}`, `{"host":["example.com","bücher.example"]}`, `{"host":"*.example.com","path":"/v1/**"}`, `{"host":["127.0.0.1","::1"]}`, `{"port":[80,8080],"path":["/*","/a/**"]}`} {
		patterns[text] = mustURL(f, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for pattern, u := range patterns {
			if u.Match(text) != Yes {
				continue
			}
			parts := authority.FindStringSubmatch(text)
			parsed, err := neturl.Parse(text)
			if err != nil || parts == nil || parsed.User != nil || parsed.Hostname() != strings.Trim(parts[2], "[]") || parsed.Port() != parts[3] || !strings.EqualFold(parsed.Scheme, parts[1]) {
				t.Fatalf("%s matches %q for certain, whose parts are %q and %v (%v)", pattern, text, parts, parsed, err)
			}
			name := strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
			ip, err := netip.ParseAddr(name)
			switch {
			case strings.Contains(pattern, `"*.example.com"`) && !strings.HasSuffix(name, ".example.com"),
				strings.Contains(pattern, `"example.com"`) && name != "example.com" && name != "bücher.example" && name != "xn--bcher-kva.example",
				strings.Contains(pattern, `"::1"`) && (err != nil || !ip.Unmap().IsLoopback()),
				!strings.Contains(pattern, "8080") && parts[3] != "" && parts[3] != map[string]string{"http": "80", "https": "443"}[parsed.Scheme]:
				t.Fatalf("%s matches %q for certain", pattern, text)
			}
		}
	})
}

func BenchmarkURL_Match(b *testing.B) {
	worst := `"/*` + strings.Repeat("a", maxGlob-3) + `b"`
	worst = "[" + worst + "," + worst + "," + worst + "," + worst + "]"
	for _, bb := range []struct{ name, pattern, text string }{
		{"usual", `{"host":"*.example.com"}`, "https://www.example.com/docs/policy?section=7"},
		{"long", `{"host":"*.example.com","path":"/docs/**"}`, "https://www.example.com" + strings.Repeat("/docs", 800)},
		{"worst", `{"path":` + worst + `}`, "https://www.example.com/%61/../" + strings.Repeat("a", 4000)},
	} {
		u := mustURL(b, bb.pattern)
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				u.Match(bb.text)
			}
			b.ReportMetric(20*float64(u.Cost(len(bb.text))), "ns-charged/op")
		})
	}
}

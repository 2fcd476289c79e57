package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Cache policies of files.
const (
	revalidate = "no-cache"                            // and check for a change each time
	immutable  = "public, max-age=31536000, immutable" // its name changes with its content
)

// types are the content types of the files of a bundle.
var types = map[string]string{
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".txt":   "text/plain; charset=utf-8",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".woff2": "font/woff2",
}

func contentType(name string) string { return types[path.Ext(name)] }

// file is one file in the forms in which it is sent.
type file struct {
	contentType, cache, etag string
	content                  []byte
	zipped                   func() []byte // compressed on the first request; nil: not worth it
}

func newFile(contentType, cache string, content []byte) *file {
	sum := sha256.Sum256(content)
	f := &file{
		contentType: contentType, cache: cache, content: content,
		etag: base64.RawURLEncoding.EncodeToString(sum[:16]),
	}
	f.zipped = sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil
		}
		if _, err := w.Write(content); err != nil || w.Close() != nil || b.Len() > len(content)*9/10 {
			return nil
		}
		return b.Bytes()
	})
	return f
}

// takesGzip reports whether the browser accepts gzip.
func takesGzip(accept []string) bool {
	for _, value := range accept {
		for coding := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(coding, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			q, named := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(params), " ", ""), "q=")
			weight, err := strconv.ParseFloat(q, 64)
			return !named || err == nil && weight > 0
		}
	}
	return false
}

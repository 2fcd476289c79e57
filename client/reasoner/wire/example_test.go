package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// A receiver of callbacks checks the signature and the age of each.
func ExampleSigned() {
	secret := []byte("the value of MEUP_CALLBACK_SECRET")
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
		timestamp := r.Header.Get(wire.TimestampHeader)
		seconds, _ := strconv.ParseInt(timestamp, 10, 64)
		fresh := time.Since(time.Unix(seconds, 0)).Abs() < 5*time.Minute
		if err != nil || !fresh || !wire.Signed(secret, timestamp, body, r.Header.Get(wire.SignatureHeader)) {
			http.Error(w, "not signed by the service", http.StatusUnauthorized)
			return
		}
		fmt.Printf("%s\n", body) // a wire.Callback
	})

	body, timestamp := `{"status":"ok"}`, strconv.FormatInt(time.Now().Unix(), 10)
	for _, signature := range []string{wire.Sign(secret, timestamp, []byte(body)), "sha256=0"} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set(wire.TimestampHeader, timestamp)
		r.Header.Set(wire.SignatureHeader, signature)
		w := httptest.NewRecorder()
		receiver(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// {"status":"ok"}
	// 200
	// 401
}

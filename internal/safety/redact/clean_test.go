package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// cleanFormats are typical texts of agents, with random-looking parts and keywords
// of rules.
var cleanFormats = []string{
	"commit {hex:40}\nAuthor: Bob <bob@example.org>\nDate: 2026-11-01\n\n    gateway: refuse tokens without a space ({hex:7}..{hex:9})",
	"request_id={uuid} trace={hex:32} span={hex:16} took 12ms, idempotency-key: {uuid}",
	"sha256:{hex:64} and sha512 {HEX:128}, md5sum {hex:32}  build/app.tar.gz",
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b64:800}==",
	"<img src=\"data:image/svg+xml;base64,PHN2ZyB4bWxucz0i{b64:300}\">",
	"h1:{b64:43}= github.com/meup-protocol/meup v0.1.0 h1:{b64:43}=",
	"\"integrity\": \"sha512-{b64:86}==\", \"resolved\": \"https://registry.example.org/a/-/a-1.2.3.tgz\"",
	"image: registry.example.org/team/app@sha256:{hex:64}\nimagePullPolicy: IfNotPresent",
	"goroutine {digit:3} [running]:\nmain.(*Token).Parse(0xc000{hex:6}, {0x{hex:6}, 0x1f})\n\t/src/auth/token.go:{digit:3} +0x{hex:3}\ncreated by net/http.(*Server).Serve",
	"Traceback (most recent call last):\n  File \"/app/secret_store.py\", line {digit:3}, in load\n    token = self.client.access_token(refresh=True)\nKeyError: 'api_key'",
	"java.lang.IllegalStateException: credential helper returned {digit:3}\n\tat org.example.auth.TokenProvider.get(TokenProvider.java:{digit:3})\nCaused by: key not found",
	"const token = await getAccessToken(session.id);\nif (!token) throw new Error(`no token for {uuid}`);\nconst api_key = process.env.API_KEY_{digit:4};",
	"password = getpass.getpass('Password: ')\nsecret = os.environ[\"CLIENT_SECRET\"]\ntoken: str = field(default_factory=lambda: secrets.token_hex({digit:2}))",
	"func (k *Key) Secret() string { return k.secret }\n\nvar errToken = errors.New(\"token expired\") // see RFC {digit:4}",
	"The token limit is {digit:5} tokens; the password must have {digit:1} characters and the api key is read from the vault.",
	"I think the access key was rotated in {digit:4}. The secret: nobody knows who asked for it. Password reset is pending for {digit:2} users.",
	"Reasoning about the task: ask the risk desk, mask the disk, and skip {digit:2} of the tasks. A key-value store keeps keys and values.",
	"password: required, string, at least 12 characters\ntoken: optional\napi_key: <your-api-key>\nsecret: \"${CLIENT_SECRET}\"\npassword: ****",
	"curl -H 'Authorization: Bearer $TOKEN' -H 'X-Api-Key: {{API_KEY}}' https://api.example.org/v1/items/{digit:6}?page={digit:2}",
	"postgres://user:password@localhost:5432/app and postgres://$USER:${PGPASSWORD}@db/app, https://example.org:8443/a@b, redis://localhost:6379/{digit:1}",
	"https://example.org/blob/{hex:40}/src/auth.go#L{digit:3} and s3://bucket/asia-northeast1/{uuid}/part-{digit:5}.parquet",
	"git@github.com:org/repo.git, ssh://git@example.org:22/repo.git, mailto:bob@example.org, http://localhost:{digit:4}/health",
	".sk-circle-fade-dot{animation:sk-fade-in-out-delay-{digit:1} 1s} .pat-{digit:2}{margin:-{digit:1}px} .task-list-item-checkbox-{digit:3}{top:0}",
	"eyJhbGciOi is how the header of a JSON Web Token begins; in base64 that is {\"alg\":... and a key id such as kid-{digit:4} follows.",
	"-----BEGIN CERTIFICATE-----\n{b64:64}\n{b64:64}\n{b64:20}==\n-----END CERTIFICATE-----",
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{alnum:43} bob@host, ssh-rsa AAAAB3NzaC1yc2E{b64:200}",
	"{\"public_key\":\"{b64:44}\",\"primary_key\":\"{uuid}\",\"partition_key\":\"user#{digit:8}\",\"sort_key\":\"{digit:13}\",\"cache_key\":\"{hex:32}\"}",
	"tokenizer=gpt2-large-{digit:4} max_tokens: {digit:4}, prompt_tokens={digit:4}, completion_tokens={digit:3}, token_count = {digit:6}",
	"[redacted:github-pat] was masked, and so was password=[redacted:generic-password] in token: [redacted:jwt].",
	"2026-11-01T12:{digit:2}:01.{digit:6}Z INFO auth: token accepted participant=planner space=lab seq={digit:7} conn={hex:8}",
	"0x{hex:40} sent {digit:3} to 0x{hex:40} in block 0x{hex:64}",
	"matrix: [[0.{digit:16}, -0.{digit:16}], [1.{digit:15}e-{digit:1}, 0.{digit:16}]]",
	"apiVersion: v1\nkind: Secret\nmetadata: {name: db-credentials}\ntype: Opaque\nstringData:\n  password: \"{{ .Values.password }}\"",
	"SELECT token, secret FROM credentials WHERE key = $1 AND password_hash IS NOT NULL LIMIT {digit:2}; -- {digit:3} rows",
	"Die Prüfung des Schlüssels dauerte {digit:3} ms; das Passwort: unverändert. 密码是什么？ token 是 {digit:3} 个。",
	"The basic authentication scheme and the bearer authentication-scheme differ; authorization: basic credentials are sent every time.",
	"arn:aws:iam::{digit:12}:role/ci-deploy and arn:aws:kms:eu-central-1:{digit:12}:key/{uuid}",
	"discord and telegram bots answer in {digit:2} s; twilio, stripe, heroku and cloudflare are reachable, datadog: {digit:3} monitors",
}

// TestCleanTextsStayClean: 2,000 snippets, no false alarm.
func TestCleanTextsStayClean(t *testing.T) {
	d := detector(t)
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 2000 {
		text := write(t, r, cleanFormats[i%len(cleanFormats)])
		for _, f := range d.Find(nil, nil, []byte(text), nil) {
			t.Errorf("%s finds %q in %q", f.Rule, text[f.Start:f.End], text)
		}
	}
}

// TestCleanMembersStayClean is the same test for members with telling keys.
func TestCleanMembersStayClean(t *testing.T) {
	d := detector(t)
	for _, member := range [][2]string{
		{"message", "The secret is out"}, {"token_count", "123456"}, {"password", "required"}, {"password", "$DB_PASSWORD"},
		{"secret", "projects/x/secrets/db"}, {"api_key", "<your key here>"}, {"tokenizer", "cl100k_base_2024_v1"}, {"token", "end_of_text"},
		{"access_token", "process.env.ACCESS_TOKEN_2"}, {"credential_type", "service-account-v2"}, {strings.Repeat("token", 20), "aB3dE6gH9jK2mN5pQ8"},
	} {
		if found := d.Find(nil, []byte(member[0]), []byte(member[1]), nil); len(found) > 0 {
			t.Errorf("%s: %s: %v", member[0], member[1], found)
		}
	}
}

func snippet(b testing.TB, size int, formats ...string) []byte {
	r := rand.New(rand.NewPCG(11, 12))
	var s strings.Builder
	for s.Len() < size {
		s.WriteString(write(b, r, formats[r.IntN(len(formats))]) + "\n")
	}
	return []byte(s.String()[:size])
}

const prose = "The deployment changes how sessions are validated, so I looked at the test report first. Two checks fail in the same module, " +
	"and both have to do with expiry; the rollback plan does not mention them. Before I recommend anything I want to compare the list of " +
	"changed components with what the load balancer sees in production, because a stale cache could explain the second failure. "

func BenchmarkInspect(b *testing.B) {
	d := detector(b)
	texts := []struct {
		name string
		text []byte
	}{
		{"clean 300 B", snippet(b, 300, prose)},
		{"clean 4 KiB", snippet(b, 4096, prose)},
		{"trigger words 300 B", snippet(b, 300, cleanFormats[14:17]...)},
		{"trigger words 4 KiB", snippet(b, 4096, cleanFormats[14:17]...)},
		{"code and logs 4 KiB", snippet(b, 4096, cleanFormats...)},
		{"one secret 300 B", append(snippet(b, 260, prose), " "+ghp...)},
	}
	for _, c := range texts {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			var found []Finding
			for b.Loop() {
				found = d.Find(found[:0], []byte("message"), c.text, nil)
			}
		})
	}
}

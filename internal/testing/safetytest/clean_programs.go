package safetytest

// programs are sources, settings and related files.
var programs = []kind{
	{name: "go", formats: []string{
		"func (s *{Noun}) {Verb}(ctx context.Context, token string) error {\n\tif token == \"\" {\n\t\treturn errors.New(\"{noun}: no token\")\n\t}\n\treturn s.{noun}.{Verb}(ctx, token, s.secretKey)\n}",
		"const (\n\tmaxTokens = {digit:4}\n\ttokenLifetime = {digit:2} * time.Minute\n\tapiKeyHeader = \"X-Api-Key\"\n\tsecretLength = {digit:2}\n)",
		"\"github.com/{person}/{noun}/v2/{noun}_{noun}\"\n\tpassword := os.Getenv(\"{NOUN}_PASSWORD\")\n\tapiKey := cfg.Keys[\"{noun}\"].Value()",
		"var errToken = fmt.Errorf(\"%w: token %s expired at %s\", errAuth, id, at) // {noun} {digit:4}",
		"key := sha256.Sum256([]byte(\"{noun}\"))\nwant := \"{sha256}\"",
	}},
	{name: "python", formats: []string{
		"password = getpass.getpass('Password: ')\nsecret = os.environ[\"CLIENT_SECRET\"]\ntoken: str = field(default_factory=lambda: secrets.token_hex({digit:2}))",
		"def {verb}_{noun}(self, api_key: str | None = None, *, token=None) -> {Noun}:\n    \"\"\"{Verb} a {noun}; the api key is read from the vault.\"\"\"\n    token = token or self.client.access_token(refresh=True)",
		"client = {Noun}Client(api_key=settings.{NOUN}_API_KEY, secret=settings.SECRET_KEY, token=get_token_for_{noun}({digit:3}))",
		"assert response.json()[\"token\"] == expected_token_{noun}_{digit:2}\nassert len(secret_key) >= {digit:2}",
		"{noun}_token = \"test-token\"\npassword = \"password\"\napi_key=\"dummy\"  # {noun}",
	}},
	{name: "typescript", formats: []string{
		"const token = await getAccessToken(session.id);\nif (!token) throw new Error(`no token for {uuid}`);\nconst apiKey = process.env.{NOUN}_API_KEY_{digit:2};",
		"export interface {Noun} { accessToken?: string; refreshToken: string | null; secretKey: CryptoKey; password: string }",
		"headers: { Authorization: `Bearer ${token}`, 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },",
		"import { {camel}, use{Noun}Token } from '@{noun}/{noun}-{verb}';\nconst [password, setPassword] = useState('');",
		"const {camel} = ({ token, secret }: Props) => <Field name=\"password\" type=\"password\" autoComplete=\"current-password\" key={{camel}} />;",
	}},
	{name: "java", formats: []string{
		"@Value(\"${{noun}.api.key}\") private String apiKey;\nprivate static final String TOKEN_HEADER = \"X-{Noun}-Token\";\nprivate final char[] password = config.getPassword();",
		"return Jwts.builder().setSubject({noun}.getId()).signWith(secretKey, SignatureAlgorithm.HS256).compact();",
		"Credential credential = credentialStore.load(tokenProvider.resolve{Noun}(request.getHeader(\"Authorization\")));",
	}},
	{name: "rust", formats: []string{
		"let token: &str = &self.token; let secret = std::env::var(\"{NOUN}_SECRET\").expect(\"{NOUN}_SECRET is not set\");",
		"#[derive(Deserialize)] struct {Noun} { api_key: Option<SecretString>, token_type: TokenKind, password: Zeroizing<String> }",
		"checksum = \"{sha256}\"\nname = \"{noun}-{noun}\"\nversion = \"{semver}\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"",
	}},
	{name: "sql", formats: []string{
		"SELECT token, secret FROM credentials WHERE key = $1 AND password_hash IS NOT NULL LIMIT {digit:2}; -- {digit:3} rows",
		"CREATE TABLE {noun}s (id uuid PRIMARY KEY, api_key_id text NOT NULL, token_expires_at timestamptz, secret bytea, password text);",
		"INSERT INTO {noun}s (id, {noun}, sha) VALUES ('{uuid}', '{Noun}', '{sha1}'), ('{uuid}', '{Noun}', '{sha1}');",
		"ALTER USER {person} WITH PASSWORD :'password'; GRANT SELECT ON {noun}s TO {person};",
	}},
	{name: "shell", formats: []string{
		"curl -H 'Authorization: Bearer $TOKEN' -H 'X-Api-Key: {{API_KEY}}' https://{host}/v1/{noun}s/{digit:6}?page={digit:2}",
		"curl -fsSL -u \"$USER:$PASSWORD\" -o {noun}.tar.gz https://{host}/{noun}/{semver}/{noun}.tar.gz && sha256sum -c <<<\"{sha256}  {noun}.tar.gz\"",
		"export {NOUN}_TOKEN=\"$(vault read -field=token secret/{noun})\"\nexport PASSWORD=${PASSWORD:?set it}\nread -rs -p 'Password: ' password",
		"docker login --username {person} --password-stdin {host} < token.txt; kubectl get secret {noun}-{noun} -o name",
		"ssh-keygen -t ed25519 -f ~/.ssh/{noun}_key -N \"$passphrase\" && git clone git@{host}:{noun}/{noun}.git",
		"mysql --user={person} --password -h {host} {noun} < dump-{digit:8}.sql; ssh {person}@{ip} 'cat /etc/{noun}/token'",
	}},
	{name: "diff", formats: []string{
		"diff --git a/{path} b/{path}\nindex {hex:7}..{hex:7} 100644\n--- a/{path}\n+++ b/{path}\n@@ -{digit:2},7 +{digit:2},9 @@ func {Verb}Token\n-\ttoken := old\n+\ttoken := s.{noun}.{Verb}Token(ctx)\n",
		"commit {sha1}\nAuthor: {Person} <{person}@{host}>\nDate:   Sun Nov 1 12:{digit:2}:01 2026\n\n    {noun}: {verb} the access key before the {noun} ({hex:9})",
		"-  password: {noun}\n+  password: ${{NOUN}_PASSWORD}\n-  apiKey: \"\"\n+  apiKey: {{ .Values.apiKey }}",
	}},
	{name: "lock file", formats: []string{
		"\"node_modules/{noun}-{noun}\": {\n  \"version\": \"{semver}\",\n  \"resolved\": \"https://{host}/{noun}-{noun}/-/{noun}-{semver}.tgz\",\n  \"integrity\": \"sha512-{b64:86}==\"\n}",
		"github.com/{person}/{noun} v{semver} h1:{b64:43}=\ngithub.com/{person}/{noun} v{semver}/go.mod h1:{b64:43}=",
		"{noun}-{noun}@^{semver}:\n  version \"{semver}\"\n  resolved \"https://{host}/{noun}/-/{noun}-{semver}.tgz#{sha1}\"\n  integrity sha512-{b64:86}==",
		"{file = \"{noun}-{semver}-py3-none-any.whl\", hash = \"sha256:{sha256}\"},\n{file = \"jsonwebtoken-{semver}.tar.gz\", hash = \"sha256:{sha256}\"},",
		"  /{noun}-token/{semver}:\n    resolution: {integrity: sha512-{b64:86}==}\n    engines: {node: '>={digit:2}'}",
	}},
	{name: "html", formats: []string{
		"<script src=\"https://{host}/{noun}.min.js\" integrity=\"sha384-{b64:64}\" crossorigin=\"anonymous\"></script>",
		"<input type=\"password\" name=\"password\" placeholder=\"Password\" autocomplete=\"new-password\"><label for=\"token\">Access token:</label>",
		"<meta name=\"csrf-param\" content=\"authenticity_token\"><a href=\"https://{host}/{noun}#{noun}-{uuid}\">{noun}</a>",
		"<svg viewBox=\"0 0 24 24\"><path d=\"M{digit:2}.{digit:3} {digit:2}.{digit:2}c-{digit:1}.{digit:2}-{digit:2} {digit:1}.{digit:4}-{digit:2}.{digit:2}z\"/></svg>",
	}},
	{name: "css", formats: []string{
		".sk-circle-fade-dot{animation:sk-fade-in-out-delay-{digit:1} 1s} .pat-{digit:2}{margin:-{digit:1}px} .task-list-item-checkbox-{digit:3}{top:0}",
		":root { --{noun}-color: #{hex:6}; --token-{noun}: #{HEX:6}; --key-{noun}-shadow: rgba({digit:2},{digit:2},{digit:2},.{digit:1}) }",
		"@font-face{font-family:{Noun};src:url(data:font/woff2;base64,d09GMgABAAAAA{b64:400-900}) format('woff2')}",
	}},
	{name: "minified", formats: []string{
		"!function(e,t){\"object\"==typeof exports?module.exports=t():e.{noun}=t()}(this,function(){var e={token:null,secret:void 0,password:\"\"};return e.s.{camel}=function(t){return s.get{Noun}ForKey(t.accessToken||t.key)}});",
		"const a=e=>e.tokenizer.parse(e.token),{word:3}=({secret:t,apiKey:n})=>n?t[n]:{camel}(s.hasOwnProperty,e.prototype),r8_={digit:2},sk=a(r8_);",
		"webpackChunk{noun}.push([[{digit:4}],{{digit:5}:(e,t,r)=>{r.d(t,{Z:()=>{camel}});var s=r({digit:5}),k=\"{hex:20}\"}}]);//# sourceMappingURL={noun}.{hex:20}.js.map",
	}},
	{name: "configuration", formats: []string{
		"password: required, string, at least 12 characters\ntoken: optional\napi_key: <your-api-key>\nsecret: \"${CLIENT_SECRET}\"\npassword: ****",
		"[{noun}]\ntoken_ttl = \"{digit:2}m\"\nsecret_file = \"/run/secrets/{noun}\"\napi_key_env = \"{NOUN}_API_KEY\"\npassword_file = /etc/{noun}/password",
		"auth:\n  credentials: file:///etc/{noun}/credentials.json\n  token: /var/run/secrets/kubernetes.io/serviceaccount/token\n  issuer: https://{host}/{noun}",
		"spring.datasource.password=${DB_PASSWORD}\nspring.datasource.url=jdbc:postgresql://{host}:5432/{noun}\njwt.secret=@jwt.secret@\njwt.token.validity={digit:5}",
		"AccessKeyId: !Ref {Noun}AccessKey\nSecretAccessKey: !GetAtt {Noun}AccessKey.SecretAccessKey\nMasterUserPassword: '{{resolve:secretsmanager:{noun}:SecretString:password}}'",
	}},
	{name: "placeholders", formats: []string{
		"password: |\n  at least {digit:2} characters\npassword: >-\n  ${{NOUN}_PASSWORD}\n- name: DB_PASSWORD\n  value: \"$(DB_PASSWORD)\"\n- name: PASSWORD\n  valueFrom:\n    secretKeyRef: {name: {noun}-{noun}, key: password}\n{\"path\":\"/password\",\"value\":\"<password>\"}",
		"API_KEY=your-key-here\nSECRET=xxxx\nTOKEN=${TOKEN}\nPASSWORD=changeme\n{NOUN}_TOKEN=<token>\nOPENAI_API_KEY=sk-...\nANTHROPIC_API_KEY=sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nSLACK_TOKEN=xoxb-your-token-goes-here\nSTRIPE_KEY=sk_test_xxxxxxxxxxxxxxxxxxxxxxxx",
		"apiKey: process.env.{NOUN}_API_KEY, secret: config.get('{noun}.secret'), token: '{{ secrets.{NOUN}_TOKEN }}', password: 'your_password_here'",
		"postgres://user:password@localhost:5432/{noun} and postgres://$USER:${PGPASSWORD}@db/{noun}, https://user:pass@{host}/, redis://localhost:6379/{digit:1}",
		"Authorization: Bearer <token>\nAuthorization: Bearer YOUR_ACCESS_TOKEN\nAuthorization: Basic <credentials>\nX-Api-Key: YOUR_API_KEY\nAuthorization: Bearer {{access_token}}",
		"glpat-xxxxxxxxxxxxxxxxxxxx, hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, npm_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX, AIzaXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX, hvs.your-vault-token-goes-here-please",
		"sk-1234567890abcdefghijklmnopqrstuvwxyz, ghp_abcdefghijklmnopqrstuvwxyz0123456789, token=abcdefghijklmnopqrstuvwxyz123456, secret = \"********************\"",
		"token: {{ .Values.{noun}.token | quote }}\npassword: {{ required \"password\" .Values.password }}\nsecret: %{NOUN}_SECRET%\nkey: $({NOUN}_KEY)\napi-key: ${{ secrets.{NOUN}_API_KEY }}",
	}},
	{name: "kubernetes", formats: []string{
		"apiVersion: v1\nkind: Secret\nmetadata: {name: {noun}-credentials}\ntype: Opaque\nstringData:\n  password: \"{{ .Values.password }}\"",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {noun}\n  uid: {uuid}\nspec:\n  template:\n    spec:\n      containers:\n      - image: {host}/{noun}@sha256:{sha256}\n        env:\n        - name: {NOUN}_TOKEN\n          valueFrom:\n            secretKeyRef: {name: {noun}-secret, key: token}",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {noun}\ndata:\n  mode: production\n  timeout: \"{digit:2}\"\n  level: {level}",
		"volumes:\n- name: {noun}-token-{lower:5}\n  secret:\n    secretName: {noun}-token-{lower:5}\nimagePullSecrets:\n- name: {noun}-pull-secret",
		"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nspec:\n  secretStoreRef: {kind: ClusterSecretStore, name: vault}\n  data:\n  - secretKey: password\n    remoteRef: {key: {noun}/{noun}, property: password}",
		"NAME                     TYPE                                  DATA   AGE\n{noun}-token-{lower:5}   kubernetes.io/service-account-token   3      {digit:2}d\n{noun}-tls               kubernetes.io/tls                     2      {digit:2}d",
	}},
	{name: "terraform", formats: []string{
		"resource \"aws_iam_access_key\" \"{noun}\" {\n  user    = aws_iam_user.{noun}.name\n  pgp_key = \"keybase:{person}\"\n}\noutput \"secret\" { value = aws_iam_access_key.{noun}.encrypted_secret }",
		"administrator_login_password = var.{noun}_password\nsecret_string = jsonencode({ username = \"{person}\", password = random_password.{noun}.result })",
		"token = data.vault_generic_secret.{noun}.data[\"token\"]\napi_key = local.{noun}_api_keys[count.index]\nami = \"ami-{hex:17}\"\nsubnet_id = \"subnet-{hex:17}\"",
	}},
}

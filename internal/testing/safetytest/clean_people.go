package safetytest

// people are texts of people, and of agents that write like them.
var people = []kind{
	{name: "prose", formats: []string{
		"The deployment changes how sessions are validated, so I looked at the {noun} first. Two checks fail in the same module, and both have to do with expiry; the {noun} plan does not mention them.",
		"I think the access key was rotated in {digit:4}. The secret: nobody knows who asked for it. Password reset is pending for {digit:2} users, and the {noun} is late.",
		"Reasoning about the task: ask the risk desk, mask the disk, and skip {digit:2} of the tasks. A key-value store keeps keys and values, and {person} has the token of appreciation.",
		"The token limit is {digit:5} tokens; the password must have {digit:1} characters and the api key is read from the vault.",
		"The password is the same as before, the secret is out, and the api key was revoked by {person} on Monday. A token is issued per {noun}.",
		"The basic authentication scheme and the bearer authentication-scheme differ; authorization: basic credentials are sent every time.",
		"{Person} asked whether the private key was kept in the {noun}; {person} said that credentials are stored elsewhere, and that the passphrase is known to nobody.",
	}},
	{name: "german", formats: []string{
		"Die Prüfung des Schlüssels dauerte {digit:3} ms; das Passwort: unverändert. Der Token ist seit {digit:2} Tagen abgelaufen, und {Person} möchte den Zugang erneuern.",
		"Bitte das Secret im Tresor ablegen und nicht im Chat. Der API-Key ist in der Umgebung gesetzt, siehe Abschnitt {digit:1}.{digit:1}: Zugangsdatenverwaltung.",
		"Das Passwort lautet wie immer: gar nicht weitergeben. Die Straßenbahnhaltestelle liegt {digit:3} m vom Büro entfernt.",
	}},
	{name: "french and spanish", formats: []string{
		"Le mot de passe est conservé dans le coffre ; le jeton d'accès expire après {digit:2} minutes, d'après {person}. La clé privée n'est jamais affichée.",
		"La contraseña caduca en {digit:2} días; el token de acceso se renueva solo. El consumo: {digit:3} kWh, según {person}.",
		"O segredo está guardado; a chave de acesso foi trocada por {person} às {digit:2}h{digit:2}.",
	}},
	{name: "other scripts", formats: []string{
		"密码是什么？ token 是 {digit:3} 个。访问密钥已经在 {digit:4} 年轮换，{person} 负责。",
		"パスワード: 変更されていません。トークンは{digit:2}分で期限切れになります。APIキーは保管庫から読み込みます。",
		"Пароль: без изменений. Токен доступа истёк {digit:2} минут назад, ключ хранится в {noun}.",
		"كلمة المرور لم تتغير، والرمز token صالح لمدة {digit:2} دقيقة.",
	}},
	{name: "markdown", formats: []string{
		"# {Noun} tokens\n\n| name | secret | expires |\n|---|---|---|\n| {noun} | `$SECRET` | {digit:2} d |\n\n1. Create an API key: *Settings → Keys*.\n2. Set `API_KEY=<your key>`.",
		"- [x] rotate the {noun} key\n- [ ] {verb} `access_token` ({digit:2} %)\n\n> password: never write it down\n\nSee [the {noun}](https://{host}/{noun}#{noun}-token).",
		"```go\ntoken := os.Getenv(\"TOKEN\")\n```\nThe `--password` option is read from **stdin**; `secret_key` is optional.",
		"## v{semver}\n\n- fix: token refresh ({hex:7}) by @{person} in #{digit:4}\n- feat: secret scanning for {noun}s ([{hex:8}](https://{host}/commit/{sha1}))",
	}},
	{name: "documentation", formats: []string{
		"eyJhbGciOi is how the header of a JSON Web Token begins; in base64 that is {\"alg\":... and a key id such as kid-{digit:4} follows.",
		"Personal access tokens begin with ghp_, those of apps with ghs_; Slack's begin with xoxb-, those of Stripe with sk_live_ and those of OpenAI with sk-. An AWS key begins with AKIA.",
		"--token string      access token (env {NOUN}_TOKEN)\n--password string   password; use --password-stdin instead\n--api-key string    key of the {noun} (default \"\")\n--secret-name {noun}-{noun}",
		"Usage: {noun} login [--token TOKEN] [--secret-file PATH]\n  --token <token-from-{noun}>\n  --api-key=$API_KEY",
		"Error: secret \"{noun}-{noun}\" not found in namespace \"{noun}\"; token: unauthorized; password: mismatch ({digit:3})",
		"The parameter `secret_key` is an array of bytes; `token.secret.length` must be {digit:2}. credential=none disables it. private_key: path to the PEM file.",
	}},
	{name: "masked before", formats: []string{
		"[redacted:github-pat] was masked, and so was password=[redacted:generic-password] in token: [redacted:jwt].",
		"Authorization: Bearer [redacted:bearer-token]\npostgres://app:[redacted:database-url]@{host}/{noun}\napi_key: \"[redacted:generic-api-key]\"",
		"{noun}_TOKEN=*** api_key=REDACTED password: [FILTERED] secret=<hidden> token=sk-****{alnum:4} key: ghp_****************************{alnum:4}",
	}},
	{name: "words without a value", formats: []string{
		"Das Passwort ist {digit:2} Zeichen lang. Passwort: siehe Abschnitt {digit:1}.{digit:1}. Das Kennwort lautet für alle gleich, die Passwort-Richtlinie v{semver} gilt seit {digit:4}.",
		"Le mot de passe : voir la page {digit:2}. Le mot de passe est requis, le nouveau mot de passe est envoyé à {person} le {digit:2}/{digit:2}/2026.",
		"contraseña: mínimo {digit:2} caracteres; la contraseña es obligatoria desde el {digit:2}-{digit:2}-2026. A senha é pessoal; senha: alterada.",
		"I moved the password to {path}:{digit:3}, and a hint at the password to README.md#L{digit:2}-L{digit:3}. Send the password to @{noun}_{digit:4}, or the password to +49-170-{digit:7}.",
		"La password è obbligatoria dal {digit:2}/{digit:2}/2026; la password di {person} è scaduta. Parola d'ordine: nessuna. Het wachtwoord is verplicht, hasło: wymagane, hasło to {digit:2} znaków.",
		"Şifreniz en az {digit:2} karakter olmalı; şifre: zorunlu, şifresi: {noun}. Salasana: vanhentunut. Heslo: min. {digit:2} znaků.",
		"パスワードはargon2idでハッシュ化され、{noun}に保存されます。パスワードは{host}で管理。비밀번호는 {digit:2}자 이상입니다. كلمة المرور: {digit:2} حرفا على الأقل، كلمة السر مطلوبة",
		"Пароль: не менее {digit:2} символов. Пароль от базы — в хранилище, срок пароля: {digit:2} дней, файл {path}.",
		"密码：至少{digit:1}个字符，{digit:2}天后过期。口令是必填项。新密码是 {digit:1} 到 {digit:2} 位。パスワードは{digit:2}文字です。",
		"machine learning: the default login asks {person} for a password of {digit:2} characters; machine {host} has no login.",
	}},
	{name: "questions and plans", formats: []string{
		"Plan: 1. {verb} the {noun} 2. {verb} the {noun} with the new key 3. ask {person} about the token. Confidence 0.{digit:2}.",
		"tool_call read_file {\"path\":\"{path}\",\"limit\":{digit:3}} → {digit:3} lines, {digit:2} matches for `secret_key|api_token|password`",
		"Observation: grep -rn \"password\" src/ found {path}:{digit:2}: password = read_password(prompt) and {path}:{digit:3}: token = next(tokens)",
		"Decision: keep {camel}; {ident} stays private. Reason: the access token is refreshed by {service}, not by us.",
		"Which {noun} has the token? {Person} says: the {service} one, {service} project {noun}-{noun}, {service} user {person}.{noun}.",
	}},
	{name: "mail and chat", formats: []string{
		"From: {Person} <{person}@{host}>\nTo: {person}@example.org\nMessage-ID: <{alnum:22}@{host}>\nSubject: password reset\n\nHi {Person}, the token you asked for is in the vault.",
		"{person}: did you {verb} the {noun}? the secret is that there is none :)\n{person}: token budget is {digit:4}, key insight: {verb} first",
		"DKIM-Signature: v=1; a=rsa-sha256; d={host}; s={noun}; h=from:to:subject; bh={b64:43}=; b={b64:88}=",
		"Received: from {host} ({ip}) by {host} with ESMTPS id {alnum:14} (version=TLS1_3 cipher=TLS_AES_256_GCM_SHA384)",
	}},
}

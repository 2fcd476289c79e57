package safetytest

import (
	"maps"
	"slices"
	"strings"
)

func pem(name string) string {
	return "-----BEGIN " + name + "-----\n{alnum:64}\n{alnum:64}\n{alnum:20}==\n-----END " + name + "-----"
}

// texts are formats that need more than a line of a table.
var texts = []Secret{
	{Rule: "private-key", Format: pem("RSA PRIVATE KEY")},
	{Rule: "private-key", Format: pem("OPENSSH PRIVATE KEY")},
	{Rule: "private-key", Format: pem("PGP PRIVATE KEY BLOCK")},
	{Rule: "private-key", Format: strings.Replace(pem("RSA PRIVATE KEY"), "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{HEX:32}\n\n", 1)},
	{Rule: "private-key", Format: "-----BEGIN EC " + `PRIVATE KEY-----\n{alnum:64}\n{alnum:30}`}, // as far as it was pasted
	{Rule: "kubernetes-secret-yaml", Format: "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:«\n  username: {alnum:12}\n  password: {alnum:22}==»"},
	{Rule: "kubernetes-secret-yaml", Format: "apiVersion: v1\ndata:\n«  password: {alnum:22}==\n  tls.key: {b64:64}\n»kind: Secret\nmetadata:\n  name: db"},
	{Rule: "kubernetes-secret-yaml", Format: `{"kind":"Secret","metadata":{"name":"db"},"data":{«"password": "{alnum:22}=="»}}`},
	{Rule: "nuget-config-password", Format: `<add key="ClearTextPassword" value="«{alnum:12}»" />`},
	{Rule: "hashicorp-tf-password", Format: `administrator_login_password = "«{word:16}»"`},
	{Rule: "freemius-secret-key", Format: `'secret_key' => '«sk_{word:29}»',`},
	{Rule: "aws-secret-access-key", Format: `"SecretAccessKey": "«{b64:40}»"`},
	{Rule: "vault-service-token", Format: "VAULT_TOKEN=«s.{alnum:24}»"},
	{Rule: "generic-api-key", Format: `api_key: "«{alnum:30}7»"`},
	{Rule: "generic-api-key", Format: "token=«{hex:32}7»"},
	{Rule: "generic-api-key", Format: "client.secret_key: «{alnum:31}7» # old"},
	{Rule: "generic-api-key", Format: "?access_token=«{alnum:31}7»&page=2"},
	{Rule: "generic-api-key", Format: "client_secret := '«{alnum:24}7»'"},
	{Rule: "generic-api-key", Format: `{"accessKey":"«{alnum:22}7»"}`},
	{Rule: "generic-api-key", Format: "my api key is «{alnum:24}7», use it"},
	{Rule: "generic-api-key", Format: "AUTH_TOKEN=«{uuid}»"},
	{Rule: "command-option-secret", Format: "tool login --token «{alnum:24}7» --wait"},
	{Rule: "command-option-secret", Format: "tool login --api-key '«{hex:32}»'"},
	{Rule: "command-option-password", Format: "restic --repo r --password «{alnum:5}7{alnum:4}» backup"},
	{Rule: "command-option-password", Format: "--passwd '«{alnum:5}7{alnum:4}»' --user bob"},
	{Rule: "command-option-password", Format: "helm repo add a https://x.example.org --docker-password «{alnum:5}7{alnum:4}»"},
	{Rule: "command-option-password", Format: "gpg --batch --passphrase «{alnum:5}7{alnum:4}» -d a.gpg"},
	{Rule: "command-option-password", Format: "openssl rsa -in k.pem -passin pass:«{alnum:5}7{alnum:4}»"},
	{Rule: "command-option-password", Format: "openssl pkcs12 -export -passout \"pass:«{alnum:5}7{alnum:4}»\""},
	{Rule: "command-option-password", Format: "[\"--user\",\"bob\",\"--password\",\"«{alnum:5}7{alnum:4}»\"]"},
	{Rule: "command-option-password", Format: "--password \\\n    «{alnum:5}7{alnum:4}»"},
	{Rule: "command-option-password", Format: "args:\n  - --http-password\n  - «{alnum:5}7{alnum:4}»"},
	{Rule: "command-password", Format: "SSHPASS=«{alnum:5}7{alnum:4}» sshpass -e ssh bob@h"},
	{Rule: "command-password", Format: "REDISCLI_AUTH=«{alnum:5}7{alnum:4}» redis-cli"},
	{Rule: "command-password", Format: "docker login -u bob -p«{alnum:5}7{alnum:4}» example.org"},
	{Rule: "statement-password", Format: "CREATE USER 'bob'@'%' IDENTIFIED BY '«{alnum:5}7{alnum:4}»';"},
	{Rule: "statement-password", Format: "alter user bob identified by \"«{alnum:5}7{alnum:4}»\""},
	{Rule: "statement-password", Format: "ALTER ROLE bob WITH LOGIN PASSWORD '«{alnum:5}7{alnum:4}»'"},
	{Rule: "statement-password", Format: `{"sql":"CREATE ROLE bob PASSWORD '«{alnum:5}7{alnum:4}»'"}`},
	{Rule: "statement-password", Format: "<server><password>«{alnum:5}7{alnum:4}»</password></server>"},
	{Rule: "statement-password", Format: "<db:Password>\n  «{alnum:5}7{alnum:4}»\n</db:Password>"},
	{Rule: "statement-password", Format: "requirepass «{alnum:5}7{alnum:4}»"},
	{Rule: "statement-password", Format: "redis-server --requirepass \"«{alnum:5}7{alnum:4}»\""},
	{Rule: "generic-password", Format: "PGPASSWORD=«{alnum:5}7{alnum:4}» psql -h db"},
	{Rule: "generic-password", Format: "psql \"host=db user=bob password=«{alnum:5}7{alnum:4}»\""},
	{Rule: "generic-password", Format: "wget --user=bob --password=«{alnum:5}7{alnum:4}» https://x.example.org"},
	{Rule: "generic-password", Format: "ansible all -e ansible_password=«{alnum:5}7{alnum:4}»"},
	{Rule: "command-option-secret", Format: "tool --token «{alnum:9}7{alnum:5}»"},
	{Rule: "command-option-secret", Format: "tool --api-key=«{alnum:9}7{alnum:5}»"},
	{Rule: "command-option-secret", Format: "tool --bot-token «{alnum:9}7{alnum:5}»"},
	{Rule: "command-option-secret", Format: "tool -secret \"«{alnum:9}7{alnum:5}»\""},
	{Rule: "command-option-secret", Format: "[\"--token\", \"«{alnum:9}7{alnum:5}»\"]"},
	{Rule: "database-command-password", Format: "mysql -u root -p«{alnum:5}7{alnum:4}» shop"},
	{Rule: "database-command-password", Format: "mysqldump --single-transaction -u root -p'«{alnum:5}7{alnum:4}»' shop"},
	{Rule: "database-command-password", Format: "mysql -uroot -p«{alnum:5}7{alnum:4}»"},
	{Rule: "database-command-password", Format: "mariadb -h db -p«{alnum:5}7{alnum:4}»"},
	{Rule: "database-command-password", Format: "mysqladmin -p«{alnum:5}7{alnum:4}» status"},
	{Rule: "database-command-password", Format: "docker exec db sh -c \"mysql -p«{alnum:5}7{alnum:4}»\""},
	{Rule: "database-command-password", Format: "[\"mysql\", \"-u\", \"root\", \"-p«{alnum:5}7{alnum:4}»\"]"},
	{Rule: "database-command-password", Format: "mysql \\\n  -u root \\\n  -p«{alnum:5}7{alnum:4}»"},
	{Rule: "database-command-password", Format: "mongosh -u bob -p «{alnum:5}7{alnum:4}»"},
	{Rule: "database-command-password", Format: "mongodump --host db -u bob -p«{alnum:5}7{alnum:4}»"},
	{Rule: "database-command-password", Format: "mongosh \"mongodb://db:27017/x\" -u bob -p '«{alnum:5}7{alnum:4}»'"},
	{Rule: "database-command-password", Format: "cqlsh -u bob -p «{alnum:5}7{alnum:4}» db"},
	{Rule: "database-command-password", Format: "redis-cli -h r -a «{alnum:5}7{alnum:4}» ping"},
	{Rule: "database-command-password", Format: "redis-cli -a '«{alnum:5}7{alnum:4}»'"},
	{Rule: "database-command-password", Format: "sqlcmd -S db -U sa -P «{alnum:5}7{alnum:4}»"},
	{Rule: "file-command-password", Format: "zip -P «{alnum:5}7{alnum:4}» a.zip b"},
	{Rule: "file-command-password", Format: "zip -r -P «{alnum:5}7{alnum:4}» a.zip b"},
	{Rule: "file-command-password", Format: "zip -rP «{alnum:5}7{alnum:4}» a.zip b"},
	{Rule: "file-command-password", Format: "unzip -P «{alnum:5}7{alnum:4}» a.zip"},
	{Rule: "file-command-password", Format: "7z a -p«{alnum:5}7{alnum:4}» a.7z b"},
	{Rule: "file-command-password", Format: "7z x a.7z -p«{alnum:5}7{alnum:4}»"},
	{Rule: "file-command-password", Format: "rar a -hp«{alnum:5}7{alnum:4}» a.rar b"},
	{Rule: "file-command-password", Format: "openssl enc -aes-256-cbc -k «{alnum:5}7{alnum:4}» -in a"},
	{Rule: "file-command-password", Format: "openssl aes-256-cbc -d -K «{hex:31}7» -iv 00"},
	{Rule: "file-command-password", Format: "ansible-vault encrypt_string '«{alnum:5}7{alnum:4}»' --name x"},
	{Rule: "file-command-password", Format: "ansible-vault encrypt_string --vault-id dev@prompt '«{alnum:5}7{alnum:4}»'"},
	{Rule: "network-command-password", Format: "ldapsearch -x -D cn=admin,dc=x -w «{alnum:5}7{alnum:4}» -b dc=x"},
	{Rule: "network-command-password", Format: "ldapmodify -x -D cn=admin -w '«{alnum:5}7{alnum:4}»'"},
	{Rule: "network-command-password", Format: "smbclient //h/s -U bob%«{alnum:5}7{alnum:4}»"},
	{Rule: "network-command-password", Format: "smbclient -U 'LAB/bob%«{alnum:5}7{alnum:4}»' //h/s"},
	{Rule: "network-command-password", Format: "rpcclient --user=bob%«{alnum:5}7{alnum:4}» h"},
	{Rule: "network-command-password", Format: "net use Z: \\\\h\\s «{alnum:5}7{alnum:4}» /user:bob"},
	{Rule: "network-command-password", Format: "net use \\\\h\\s /user:bob «{alnum:5}7{alnum:4}»"},
	{Rule: "generic-api-key", Format: `{\"access_token\":\"«{alnum:24}7»\"}`},
	{Rule: "generic-password", Format: "password=«hunter2»"},
	{Rule: "generic-password", Format: `"db_password": "«S3cure!{alnum:5}»"`},
	{Rule: "generic-password", Format: "the password is «{alnum:9}5»"},
	{Rule: "generic-password", Format: "PWD: «{alnum:8}1»"},
	{Rule: "generic-password", Format: "passphrase: «x9{alnum:8}»"},
	{Rule: "generic-password", Format: "password: >-\n  «{alnum:5}7{alnum:4}»"},
	{Rule: "generic-password", Format: "db_password: |\n    «{alnum:5}7{alnum:4}»"},
	{Rule: "generic-password", Format: "the password is: «{alnum:5}7{alnum:4}»"},
	{Rule: "generic-password", Format: "name: DB_PASSWORD\n          value: «{alnum:5}7{alnum:4}»"},
	{Rule: "generic-password", Format: "<add key=\"SmtpPassword\" value=\"«{alnum:5}7{alnum:4}»\"/>"},
	{Rule: "generic-password", Format: `{"op":"replace","path":"/spec/db_password","value":"«{alnum:5}7{alnum:4}»"}`},
	{Rule: "generic-password", Format: `{"name": "PASSWORD", "value": "«{alnum:5}7{alnum:4}»"}`},
	{Rule: "short-password", Format: "pass=«{alnum:8}1»"},
	{Rule: "short-password-member", Format: "db_pass: «{alnum:8}1»"},
	{Rule: "short-password", Format: "SMTP_PASS=«{alnum:8}1»"},
	{Rule: "short-password-member", Format: `"pass": "«{alnum:8}1»"`},
	{Rule: "environment-secret", Format: "ENV DB_PASS «{alnum:8}1»"},
	{Rule: "environment-secret", Format: "ENV API_TOKEN «{alnum:20}1»"},
	{Rule: "environment-secret", Format: "ENV APP_SECRET_KEY \"«{alnum:20}1»\""},
	{Rule: "foreign-password", Format: "Das Passwort lautet «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Passwort: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Kennwort für bob ist «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "mot de passe : «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Le mot de passe est «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "contraseña: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "La contraseña es «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password-verb", Format: "la password è «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password-verb", Format: "La password di bob è: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password-verb", Format: "das Password lautet «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "parola d'ordine: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "La parola d’ordine è «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "a senha é «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "palavra-passe: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Het wachtwoord van bob is «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "wachtwoord: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "hasło: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Hasło to «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "lösenordet är «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "passordet er «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "salasana: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "mật khẩu: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "パスワードは«{alnum:4}7{alnum:3}1»です"},
	{Rule: "foreign-password", Format: "비밀번호는 «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "비밀번호: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "كلمة المرور: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "كلمة المرور هي «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "كلمة السر: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "סיסמה: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "parola: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Adgangskode: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Passord: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Heslo: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Jelszó: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "Kata sandi: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "암호: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "رمز عبور: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "पासवर्ड: «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "รหัสผ่าน: «{alnum:4}7{alnum:3}1»"},
	{Rule: "turkish-password", Format: "şifre: «{alnum:4}7{alnum:3}1»"},
	{Rule: "turkish-password", Format: "Şifre = «{alnum:4}7{alnum:3}1»"},
	{Rule: "turkish-password", Format: "Veritabanı şifresi: «{alnum:4}7{alnum:3}1»"},
	{Rule: "cyrillic-password", Format: "пароль: «{alnum:4}7{alnum:3}1»"},
	{Rule: "cyrillic-password", Format: "Пароль от базы — «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "密码：«{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "密码是 «{alnum:4}7{alnum:3}1»"},
	{Rule: "foreign-password", Format: "パスワード: «{alnum:4}7{alnum:3}1»"},
	{Rule: "generic-password", Format: `{\"password\": \"«x9{alnum:8}»\"}`},
}

// names are the formats that are secrets only under their names: the rule, the
// name, the secret.
const names = `
aws-secret-access-key|aws secret access key|{b64:40}
alibaba-secret-key|alibaba secret key|{alnum:30}
heroku-api-key|heroku api key|{uuid}
cloudflare-global-api-key|cloudflare api key|{hex:37}
wandb-api-key|wandb api key|{hex:40}
cloudflare-api-key|cloudflare api token|{alnum:40}
netlify-access-token|netlify auth token|{word:43}
yandex-aws-access-token|yandex access key|YC{word:38}
fastly-api-token|fastly api token|{word:32}
launchdarkly-access-token|launchdarkly sdk key|sdk-{uuid}
cisco-meraki-api-key|meraki api key|{hex:40}
gitter-access-token|gitter token|{hex:40}
bitbucket-client-secret|bitbucket client secret|{alnum:32}
bitbucket-client-secret|bitbucket client secret|{word:64}
bitbucket-client-id|bitbucket client id|{alnum:18}
bitbucket-client-id|bitbucket client id|{alnum:32}
atlassian-api-token|jira api token|{lower:20}{hex:4}
jfrog-api-key|jfrog api key|{alnum:73}
jfrog-identity-token|artifactory identity token|{alnum:64}
droneci-access-token|drone token|{alnum:32}
travisci-access-token|travis token|{word:22}
codecov-access-token|codecov token|{uuid}
codecov-access-token|codecov token|{lower:32}
snyk-api-token|snyk token|{uuid}
sonar-api-token|sonar token|{hex:40}
sourcegraph-access-token|sourcegraph token|{hex:40}
privateai-api-token|privateai token|{lower:32}
okta-access-token|okta api token|00{word:40}
cohere-api-token|cohere api key|{alnum:40}
discord-client-secret|discord client secret|{word:32}
discord-api-token|discord api token|{hex:64}
discord-client-id|discord client id|{digit:18}
mattermost-access-token|mattermost access token|{lower:26}
twilio-auth-token|twilio auth token|{hex:32}
mailgun-signing-key|mailgun signing key|{hex:32}-{hex:8}-{hex:8}
mailchimp-api-key|mailchimp api key|{hex:32}-us12
messagebird-client-id|messagebird client id|{uuid}
messagebird-api-token|messagebird api key|{alnum:25}
sendbird-access-id|sendbird app id|{uuid}
sendbird-access-token|sendbird api token|{hex:40}
intercom-api-key|intercom access token|{word:60}
zendesk-secret-key|zendesk api token|{alnum:40}
beamer-api-token|beamer api key|b_{word:44}
hubspot-api-key|hubspot api key|{uuid}
facebook-secret|facebook app secret|{hex:32}
twitter-bearer-token|twitter bearer token|AAAAAAAAAAAAAAAAAAAAAA{alnum:85}
twitter-access-token|twitter access token|{digit:19}-{alnum:30}
twitter-access-secret|twitter access token secret|{alnum:45}
twitter-api-secret|twitter api secret|{alnum:50}
twitter-api-key|twitter api key|{alnum:25}
linkedin-client-secret|linkedin client secret|{alnum:16}
linkedin-client-id|linkedin client id|{lower:14}
twitch-api-token|twitch client secret|{lower:30}
flickr-access-token|flickr api key|{hex:32}
nytimes-access-token|nytimes api key|{alnum:32}
adobe-client-id|adobe client id|{hex:32}
algolia-api-key|algolia admin key|{hex:32}
contentful-delivery-api-token|contentful delivery token|{word:43}
squarespace-access-token|squarespace api key|{uuid}
rapidapi-access-token|x rapidapi key|{alnum:50}
adafruit-api-key|adafruit io key|{word:32}
mapbox-api-token|mapbox token|pk.{alnum:60}.{alnum:22}
square-access-token|square access token|EAAA{word:60}
gocardless-api-token|gocardless access token|live_{word:40}
plaid-client-id|plaid client id|{hex:24}
plaid-secret-key|plaid secret|{hex:30}
coinbase-access-token|coinbase api secret|{word:64}
bittrex-secret-key|bittrex api secret|{hex:32}
bittrex-access-key|bittrex api key|{hex:32}
kraken-access-token|kraken private key|{b64:86}==
kucoin-secret-key|kucoin api secret|{uuid}
kucoin-access-token|kucoin api key|{hex:24}
finicity-client-secret|finicity partner secret|{alnum:20}
finicity-api-token|finicity app key|{hex:32}
finnhub-access-token|finnhub api key|{lower:20}
freshbooks-access-token|freshbooks token|{hex:64}
etsy-access-token|etsy api key|{lower:24}
linear-client-secret|linear client secret|{hex:32}
airtable-api-key|airtable api key|key{alnum:14}
asana-client-id|asana client id|{digit:16}
asana-client-secret|asana client secret|{hex:32}
dropbox-long-lived-api-token|dropbox token|{lower:11}AAAAAAAAAA{word:43}
dropbox-api-token|dropbox app secret|{lower:15}
looker-client-secret|looker client secret|{alnum:24}
looker-client-id|looker client id|{alnum:20}
new-relic-user-api-id|new relic api id|{lower:64}
datadog-access-token|datadog api key|{hex:32}
datadog-access-token|dd app key|{hex:40}
sentry-access-token|sentry auth token|{hex:64}
sumologic-access-id|sumologic access id|su{alnum:12}
sumologic-access-token|sumologic access key|{alnum:64}
confluent-secret-key|confluent cloud api secret|{b64:64}
confluent-access-token|confluent cloud api key|{CAP:16}
`

// spellings are the ways to write a name beside its secret, V: name in words,
// name_in_snakes, NAME_IN_CAPITALS, name-in-kebabs, nameInCamels.
var spellings = map[string]string{
	"variable":     "SNAKES=V",
	"member":       `"snake": "V"`,
	"sentence":     "I saw that the words is V, as far as I know",
	"assignment":   `const camel = 'V';`,
	"setting":      "kebab: V # do not share",
	"escaped":      `{\"id\":7,\"snake\":\"V\",\"next\":null}`,
	"more escaped": `\\\"camel\\\": \\\"V\\\"`,
	"shell":        "export SNAKES='V' && make deploy",
	"query":        "https://api.example.org/v1/items?snake=V&page=2",
	"option":       "tool run --kebab=V --wait",
	"array":        "'snake' => 'V',",
	"call":         `settings.set("snake", "V")`,
	"fallback":     `process.env.SNAKES || "V"`,
	"element":      `<snake>V</snake>`,
	"lines":        `first line\nSNAKES=V\nlast line`,
}

var sortedSpellings = slices.Sorted(maps.Keys(spellings))

// spell writes a named secret out.
func spell(s Secret, spelling string) string {
	words := strings.Fields(s.Name)
	camel := words[0]
	for _, w := range words[1:] {
		camel += strings.ToUpper(w[:1]) + w[1:]
	}
	snake := strings.Join(words, "_")
	return strings.NewReplacer("SNAKES", strings.ToUpper(snake), "snake", snake, "words", s.Name,
		"kebab", strings.Join(words, "-"), "camel", camel, "V", "«"+s.Format+"»").Replace(spellings[spelling])
}

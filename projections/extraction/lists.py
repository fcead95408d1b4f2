"""Words the rules know: software, file endings, domains, tools, words that begin sentences."""

from __future__ import annotations

from typing import Final

#: Software and services known by name, in any case, and the name they go by.
SERVICES: Final = {
    name: name
    for name in (
        "airflow ansible bigquery bitbucket cassandra celery clickhouse cloudflare cloudfront "
        "cockroachdb confluence datadog debian django docker dramatiq dynamodb elasticsearch etcd "
        "fastapi ffmpeg firebase github gitlab grafana graphql hadoop haproxy heroku hindsight ios "
        "jenkins jira kafka kibana kubernetes linux litestream mariadb memcached minio mongodb mysql "
        "neo4j nginx numpy openai openssl opensearch opentelemetry pagerduty pandas pgbouncer pgvector "
        "podman postgres prometheus pulumi pytest pytorch qdrant rabbitmq redis s3 sagemaker "
        "salesforce snowflake sqlalchemy sqlite supabase systemd tensorflow terraform traefik typescript "
        "javascript ubuntu valkey vercel weaviate webpack zookeeper zendesk numpy foldlog"
    ).split()
} | {
    "k8s": "kubernetes",
    "mongo": "mongodb",
    "node.js": "node.js",
    "nodejs": "node.js",
    "next.js": "next.js",
    "vue.js": "vue.js",
    "react.js": "react",
    "d3.js": "d3.js",
    "three.js": "three.js",
    "asp.net": "asp.net",
    "postgresql": "postgres",
}

#: Software whose name is a word too: a service only with a capital, or with a version after it.
WORD_SERVICES: Final = frozenset(
    "alembic angular consul express flask gunicorn helm istio keycloak lambda loki nats node nomad "
    "python ray react ruby rust sentry slack spark swift temporal vault java perl php kotlin".split()
)

#: Programming names in CamelCase that are no symbols, and what they are called.
CAMEL_NAMES: Final = frozenset(
    "github gitlab javascript typescript postgresql mysql mongodb youtube linkedin whatsapp iphone ipad "
    "ipod ebay macos ios icloud airbnb paypal facetime openai chatgpt deepmind redhat webassembly graphql "
    "dynamodb clickhouse rabbitmq elasticsearch wordpress powerpoint onedrive playstation xbox tiktok "
    "snapchat hubspot cloudflare bigquery sqlite cockroachdb mariadb pytorch tensorflow opentelemetry "
    "opensearch pagerduty devops pgvector numpy fastapi phd mcdonald latex".split()
)

FILE_ENDINGS: Final = frozenset(
    "py pyi ipynb js mjs cjs ts tsx jsx vue svelte go rs rb java kt kts scala swift c h cc cpp cxx hpp cs "
    "php pl lua r jl ex exs erl hs clj dart zig sh bash zsh fish ps1 bat sql html htm css scss less md mdx "
    "rst txt csv tsv json jsonl ndjson yaml yml toml ini cfg conf env lock xml svg png jpg jpeg gif webp ico "
    "pdf doc docx xls xlsx ppt pptx odt log out err db sqlite sqlite3 parquet avro proto graphql gz tgz zip "
    "tar bz2 xz zst 7z whl jar war deb rpm iso img bin exe dll so dylib o a wasm pem crt key pub csr diff "
    "patch tf tfvars j2 tmpl tpl mako service socket timer bak tmp swp mp3 mp4 wav mov avi webm ttf woff "
    "woff2 map min dockerfile gradle properties cmake mk npz npy pkl pt onnx safetensors".split()
)

#: File endings that are the last part of a module's name too: `foldlog.events.log`.
WORD_ENDINGS: Final = frozenset(
    "log out err lock env service socket timer map min properties key pub db".split()
)

#: `icon@2x.png` is no address.
IMAGE_ENDINGS: Final = frozenset("png jpg jpeg gif webp svg".split())

#: Files without an ending.
FILE_NAMES: Final = frozenset(
    "dockerfile makefile license readme changelog gemfile rakefile procfile vagrantfile jenkinsfile "
    "codeowners .env .gitignore .dockerignore .bashrc .zshrc .profile .npmrc .pypirc .editorconfig "
    ".gitattributes .gitmodules .vimrc".split()
)

#: Folders with which a relative path begins.
FOLDERS: Final = frozenset(
    "src lib libs test tests doc docs app apps bin etc usr var tmp opt home pkg cmd internal scripts config "
    "configs migrations packages vendor node_modules dist build public static templates assets deploy infra "
    "charts tools examples include events projections workers .github .ci .venv".split()
)

DOMAINS: Final = frozenset(
    "com org net io dev app ai edu gov mil int info biz co uk de fr es it nl eu us ca au jp cn in ch at se "
    "no fi dk pl be br ru tv xyz cloud tech online site me local localhost internal intranet lan corp home "
    "example invalid test svc consul cluster".split()
)

#: Prose with dots.
DOTTED_WORDS: Final = frozenset("e.g i.e a.m p.m u.s u.k ph.d etc.etc vs.the".split())

#: Letters and a number that are no ticket: standards, sizes, products.
NO_TICKETS: Final = frozenset(
    "utf iso sha md aes rsa rfc gpt covid tls ssl http tcp udp ipv usb ascii cp latin base gmt utc ecma ieee "
    "ansi ean isbn din en mp rs ps px pm am hdmi vt ddr sd cat ntp top pep f b a c x h t ed cve".split()
)

#: First parts that make no service of a word with hyphens.
NO_SERVICES: Final = frozenset(
    "top pre post mid non sub super catch utf sha iso rfc part step chapter level day week month year phase "
    "under over size type grade age plus covid article one two three four five six seven eight nine ten "
    "multi semi anti self co re half first second third vitamin formula area page line round stage group "
    "class form room unit zone season episode volume act".split()
)

#: Parts of a word with hyphens that is prose: `state-of-the-art`, `end-to-end`.
PROSE_PARTS: Final = frozenset(
    "a an and as at by for from in into is it my no not of off on one or out over so the to too up with "
    "you your old year day week month hour minute long time free like based well ever all than life go "
    "me we he she who what how be do looking related".split()
)

#: Last parts that make a service of a word with one hyphen: `billing-api`.
SERVICE_ENDINGS: Final = frozenset(
    "api service svc worker server db gateway proxy backend frontend queue cache daemon agent scheduler "
    "collector exporter operator controller ingress consumer producer broker replica cron bot cluster "
    "bucket indexer router registry".split()
)

#: Where software runs, and the name it goes by; found after a preposition or before `environment`.
ENVIRONMENTS: Final = {
    "production": "production",
    "prod": "production",
    "staging": "staging",
    "preprod": "preprod",
    "pre-prod": "preprod",
    "uat": "uat",
    "sandbox": "sandbox",
    "canary": "canary",
}

#: Command-line tools, and the words after them that make a command of it.
TOOLS: Final = {
    tool: frozenset(words.split())
    for tool, words in {
        "git": "add am apply bisect blame branch checkout cherry-pick clean clone commit config diff fetch "
        "init log merge mv pull push rebase reflog remote reset restore revert rm show stash status "
        "submodule switch tag worktree",
        "docker": "build compose exec images inspect kill login logs network prune ps pull push restart rm "
        "rmi run start stats stop swarm system tag volume",
        "docker-compose": "build down exec logs ps pull restart run up",
        "kubectl": "apply config create delete describe drain edit exec expose get label logs patch "
        "port-forward rollout scale top",
        "helm": "install upgrade rollback uninstall template lint repo list",
        "terraform": "apply destroy fmt import init plan state validate",
        "npm": "audit ci exec init install link publish run start test uninstall update",
        "npx": "",
        "pnpm": "add install run test",
        "yarn": "add build install run test",
        "pip": "download freeze install list show uninstall wheel",
        "uv": "add lock pip run sync tool venv",
        "poetry": "add build install lock publish run",
        "cargo": "add build check clippy doc fmt run test update",
        "go": "fmt generate mod vet",
        "apt": "install remove update upgrade",
        "apt-get": "install remove update upgrade",
        "brew": "install update upgrade uninstall",
        "systemctl": "daemon-reload disable enable reload restart start status stop",
        "make": "build check clean deploy dist install lint test",
        "gh": "issue pr release repo run workflow",
        "aws": "ec2 ecr ecs eks iam lambda logs s3 s3api sts",
        "gcloud": "auth compute config container run",
        "alembic": "current downgrade history revision stamp upgrade",
        "foldlog": "backfill demo event events fact history import migrate note parked rebuild recall "
        "settings status thread up verify worker",
        "ruff": "check format",
        "python": "",
        "python3": "",
        "pytest": "",
        "mypy": "",
        "curl": "",
        "ssh": "",
        "psql": "",
        "redis-cli": "",
    }.items()
}

#: Decorators and tags that are no handles.
NO_HANDLES: Final = frozenset(
    "dataclass property staticmethod classmethod override overload abstractmethod cached_property lru_cache "
    "cache wraps final pytest app param params return returns throws see since deprecated author todo "
    "component injectable test here all channel everyone media import charset keyframes".split()
)

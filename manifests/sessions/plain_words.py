"""Words by which names and values of secrets are told from those that only speak of secrets."""

# The last word of a name that is not the secret itself: token_count, passwordField, SECRET_NAME.
ABOUT_SECRETS = frozenset(
    """
    alg algorithm arn at attempts auth backend bits body budget bytes cache callback char chars check
    class code column cost count counter created credits data date days default dialog dir directory
    duration enabled encoder encoding endpoint env error errors event exists expiration expires expiry
    factory failed field fields file filename filter folder form format function generator group handler
    header headers help hint host hours id ids in index info input issuer kind label labels lambda len
    length level lifetime limit limits link list loader location manager map mask max message method
    middleware min minutes mode model module name names namespace needed number options page parser path
    pattern per placeholder plugin policy position prefix prompt property provider ratio ref refs regex
    regexp region required requirements reset resolver response result role rotation rule rules schema
    scheme scope scopes screen seconds selector service set size source span start state status storage
    store strategy strength suffix table tag text timeout title total ttl type types updated uri url usage
    used user username valid validator var variable version view visible window
    """.split()  # noqa: SIM905 - a list of words is read more easily
)

# X_KEY is no secret where X is one of these, even in upper case.
KEYS_OF_DATA = frozenset(
    """
    bucket cache cell column composite config cookie data dedup dict env event field file foreign group
    header host hot idempotency index item join json label lookup map message meta object order parent
    partition pk primary public query range react redis registry routing row s setting settings shard sort
    state storage tab table tag translation unique
    """.split()  # noqa: SIM905
)

# x_key is a secret where x is one of these, even in lower case.
SECRET_KEYS = frozenset(
    """
    access account admin api app auth client consumer decryption deploy encryption hmac jwt license master
    private secret server service shared signing ssh storage
    """.split()  # noqa: SIM905
)

# A name that begins so asks whether there is a secret, or is an order: hasToken, with_credentials.
ASKING_WORDS = frozenset(
    """
    allow forgot has hide is needs no require requires show skip use with
    """.split()  # noqa: SIM905
)

# Tokens of a language rather than of a person, as in next_token and eos_token.
TOKENS_OF_TEXT = frozenset(
    """
    bos close closing cls comment current end eof eos expected first image input invalid keyword last
    lookahead mask new next open opening operator output pad pattern peek per prev previous punctuation
    sep special start stop unexpected unk unknown
    """.split()  # noqa: SIM905
)

# Values that begin so are program text: settings.TOKEN, process.env.API_KEY.
CODE_HEADS = frozenset(
    """
    app args cfg conf config constants context ctx env flask import options opts os params process req
    request self session settings this user var
    """.split()  # noqa: SIM905
)

# A value of these words alone says something of a secret, or is a type or a word of a language.
TELLING_WORDS = frozenset(
    """
    absent abstract accepted access actual alphanumeric always and anonymous any argument array async at
    authenticated authentication authorization auto automatic await base64 basic bearer before being
    bigint binary blank blob bool boolean both buffer bytea bytearray bytes cannot case changed char
    character characters checked class cleared comment confirmed const constant created credential
    credentials current custom declared default defined delete deleted denied deprecated description
    different disabled do duplicate email empty enabled encrypted end enum error every exists expired
    expires expression extends external extra failed failure false field fields file final float for
    forbidden forgotten format found from function generate generated global granted has hash hashed have
    header hidden id identifier if ignore ignored import in inactive include incorrect index inherited
    inline input instance instanceof instead int integer internal invalid is issued it its keep key
    keyring keyword known lambda leaked length lexer limit list literal local locked long longtext lookup
    lost lowercase mandatory map masked match matched max may mediumtext metadata min minimum mismatch
    missing mixed modified more must name named never new nil no none not null nullable nullptr number
    numeric object of off ok old omit omitted on one only operator option optional options or origin other
    output override parameter parameters parse parsed parser passed passphrase password passwords pattern
    pending permanent plain plaintext please position present private prohibited prompt prompts property
    protected provided public punctuation raise random range raw read readonly received redacted refresh
    refreshed refused regenerate regenerated rejected removed renewed replaced required reset return
    returned returns revoked rotate rotated same saved scalar secret secrets secretstr sensitive sent
    session set shared short should size skip skipped slice special static still stored str string strings
    strong struct success super symbol temporary text the then this throw timestamp tinytext to todo token
    tokens too true tuple type typeof uint unauthorized unchanged undefined unexpected unique unknown
    unlimited unset unsupported until unused updated uppercase url use used user user_id username uuid
    valid validate validated validation value values varchar varchar2 variable verified verify via void
    was weak when where whitespace will with without word wrong yes yield your
    """.split()  # noqa: SIM905
)

# With one of these a text of several words is a message about a secret.
SENTENCE_WORDS = frozenset(
    """
    a an and are be been by can cannot change choose confirm contain do does enter expired field for
    forgot from has have in incorrect invalid is it least missing must no not of on or password passwords
    please required reset see should show that the then this to token tokens too use used was weak when
    which will with wrong you your
    """.split()  # noqa: SIM905
)

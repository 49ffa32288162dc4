-- What a script may use in Redis and Valkey, from Redis 5 on.
stds.redis = {
  read_globals = {
    'KEYS', 'ARGV',
    redis = { fields = { 'call', 'pcall', 'error_reply', 'status_reply', 'sha1hex' } },
    cjson = { fields = { 'encode', 'decode' } },
    bit = { fields = { 'band', 'bor', 'bxor', 'bnot', 'lshift', 'rshift' } },
    math = { fields = { 'abs', 'ceil', 'floor', 'fmod', 'huge', 'max', 'min' } },
    string = { fields = { 'byte', 'char', 'find', 'format', 'gmatch', 'gsub', 'len', 'lower', 'match', 'rep', 'sub', 'upper' } },
    table = { fields = { 'concat', 'insert', 'remove', 'sort' } },
    'assert', 'error', 'ipairs', 'next', 'pairs', 'pcall', 'select', 'tonumber', 'tostring', 'type', 'unpack',
  },
}
std = 'redis'
max_line_length = 140

-- A script has all functions of the files that it includes, and may use some of them only.
ignore = {'211'}

-- Declares that this node has forgotten nothing, unless something is known of it.
-- KEYS: 1 the marker of the node. ARGV: 1 whether only to look. Returns 1 if
-- something is known.

if redis.call('EXISTS', KEYS[1]) == 1 then
  return 1
end
if ARGV[1] == '0' then
  local info = redis.pcall('INFO', 'server')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
  redis.call('SET', KEYS[1], string.format('%s 0', run or '-'))
end
return 0

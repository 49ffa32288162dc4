-- stranger returns the error for a key of ours with a value of another program.
local function stranger(code, key)
  local kind = redis.pcall('TYPE', key) -- the user may not have the right to ask
  return redis.error_reply(code .. ' the key ' .. key .. ' is a ' .. (kind.ok or 'value of another type') .. ' of another program')
end

-- The frequent case of acquire.lua: exclusive locks that are free, without waiters and
-- tombstones. It only saves time. The locks share the expensive commands.

local answers = {}
do
  local KEYS, ARGV, call = KEYS, ARGV, redis.call -- locals are faster than globals
  local n = (#KEYS - 1) / 3
  local busy = call('EXISTS', unpack(KEYS, n + 1, 3 * n)) > 0 -- some lock is
  local plain = {}
  for i = 1, n do
    if ARGV[4 * i + 3] == '' and ARGV[4 * i + 2] ~= 'extend'
      and (not busy or call('EXISTS', KEYS[n + i], KEYS[2 * n + i]) == 0) then
      plain[#plain + 1] = i
    end
  end
  local granted = 0
  if #plain > 0 then
    local t = call('TIME')
    local token = string.format('%016.0f', t[1] * 1000000 + t[2])
    -- pcall: the rest of the script reports what is wrong with the clock.
    local before = redis.pcall('GETSET', KEYS[#KEYS], token) or '0000000000000000'
    if type(before) == 'table' then -- luacheck: ignore
    elseif #before == 16 and before < token then
      local line, stamp = '1 ' .. before .. ' ' .. token .. ' 0', ' ' .. token
      for _, i in ipairs(plain) do
        local set = redis.pcall('SET', KEYS[i], ARGV[4 * i] .. stamp, 'NX', 'PX', ARGV[4 * i + 1])
        if set and set.ok then
          answers[i] = line
          granted = granted + 1
        end
      end
    else
      call('SET', KEYS[#KEYS], before) -- the clock was set back, or this is not a token
    end
  end
  if granted == n then
    return table.concat(answers, '\n')
  end
end

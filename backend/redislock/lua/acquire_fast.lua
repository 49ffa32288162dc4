-- The frequent cases of acquire.lua: exclusive locks that are free, and tries that find one
-- held, all without waiters and tombstones. It only saves time: the locks of one call share
-- the expensive commands. A try looks before it issues a token, so a refusal writes nothing.

local answers = {}
do
  local KEYS, ARGV, call, pcall = KEYS, ARGV, redis.call, redis.pcall -- locals are faster than globals
  local n = (#KEYS - 1) / 3

  -- issue_fast returns the last token that was issued and a new one, or nil: then the clock
  -- was set back, or something is wrong with it, and the rest of the script sees to that.
  local function issue_fast()
    local token = time()
    local before = pcall('GETSET', KEYS[#KEYS], token) or string.format('%016.0f', token - 1)
    if type(before) == 'table' then
      return nil
    elseif #before == 16 and before < token and not string.find(before, '%D') then
      return before, token
    end
    call('SET', KEYS[#KEYS], before)
  end

  local busy = call('EXISTS', unpack(KEYS, n + 1, 3 * n)) > 0 -- some lock is
  local free = {}
  local done = 0
  for i = 1, n do
    local owner, mode = ARGV[4 * i], ARGV[4 * i + 2]
    if ARGV[4 * i + 3] == '' and (mode == 'try' or mode == 'enqueue')
      and (not busy or call('EXISTS', KEYS[n + i], KEYS[2 * n + i]) == 0) then
      local value = mode == 'try' and pcall('GET', KEYS[i])
      if not value then
        free[#free + 1] = i
      elseif type(value) == 'string' and string.sub(value, 1, #owner + 1) ~= owner .. ' ' then
        answers[i] = refusal(call('PTTL', KEYS[i]), '0', value)
        done = done + 1
      end
    end
  end
  local before, token
  if #free > 0 then
    before, token = issue_fast()
  end
  if before then
    for _, i in ipairs(free) do
      local set = pcall('SET', KEYS[i], ARGV[4 * i] .. ' ' .. token, 'NX', 'PX', ARGV[4 * i + 1])
      if set and set.ok then
        answers[i] = '1 ' .. before .. ' ' .. token .. ' 0'
        done = done + 1
      end
    end
  end
  if done == n then
    return table.concat(answers, '\n')
  end
end

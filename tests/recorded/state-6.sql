BEGIN TRANSACTION;
CREATE TABLE drains (
    switch TEXT NOT NULL, job INTEGER REFERENCES jobs ON DELETE CASCADE, why TEXT NOT NULL, since REAL NOT NULL
);
INSERT INTO "drains" VALUES('s0',2,'new fans',1.7958685540420906544e+09);
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, whom TEXT NOT NULL, what TEXT NOT NULL,
    actor TEXT NOT NULL, source TEXT NOT NULL, party TEXT NOT NULL
);
INSERT INTO "events" VALUES(1,1.79586855358696794509e+09,'server','connected: no differences','','','');
INSERT INTO "events" VALUES(2,1.79586855363249301908e+09,'s0','connected: no differences','','','');
INSERT INTO "events" VALUES(3,1.79586855363299131393e+09,'s1','connected: no differences','','','');
INSERT INTO "events" VALUES(4,1.79586855363308644292e+09,'s2','connected: no differences','','','');
INSERT INTO "events" VALUES(5,1.79586855385076379779e+09,'gone','admitted as job 1','','','');
INSERT INTO "events" VALUES(6,1.79586855387367153166e+09,'a','admitted as job 2; s0 is left out: with a quorum the server decides','','','');
INSERT INTO "events" VALUES(7,1.79586855388960385318e+09,'b','admitted as job 3; s1 is left out: no slots are left in its shared pool; s2 is left out: no slots are left in its shared pool; s0 is left out: no slots are left in its shared pool','blue','ipv4:10.0.0.9:4242','553db735ecc9cee3c7a61400c38a278af4ec4851ee3902812c962b44a76ad61e');
INSERT INTO "events" VALUES(8,1.79586855389326405523e+09,'gone','removed','','','');
INSERT INTO "events" VALUES(9,1.79586855389412283897e+09,'b','sums of s1 are back from the server','','','');
INSERT INTO "events" VALUES(10,1.79586855389425349236e+09,'b','sums of s2 are back from the server','','','');
INSERT INTO "events" VALUES(11,1.7958685538943135739e+09,'b','sums of s0 are back from the server','','','');
INSERT INTO "events" VALUES(12,1.79586855389449429509e+09,'b','ticket of worker 0 taken: process 17 at w1','blue','ipv4:10.0.0.9:4242','553db735ecc9cee3c7a61400c38a278af4ec4851ee3902812c962b44a76ad61e');
INSERT INTO "events" VALUES(13,1.79586855390718173981e+09,'b','ticket of worker 1 taken: process 18 at w2','','','');
INSERT INTO "events" VALUES(14,1.79586855402334594723e+09,'a','new incarnation: w1 left','','','');
INSERT INTO "events" VALUES(15,1795868554.04157,'a','sums of s0 are back from the server','','','');
INSERT INTO "events" VALUES(16,1.79586855404936933519e+09,'s0','drained: new fans (job a)','','','');
INSERT INTO "events" VALUES(17,1.79586855405342888832e+09,'a','sums of s0 moved to the server: it is drained: new fans','','','');
INSERT INTO "events" VALUES(18,1.79586855405499958991e+09,'controller','tenant ''blue'' has the quota share 0.5, jobs 9, admissions_per_minute 60, packets 262144, priority 0','','','');
CREATE TABLE incarnations (
    job INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    tag INTEGER NOT NULL, epoch INTEGER NOT NULL, seed TEXT NOT NULL, slots INTEGER NOT NULL,
    servers TEXT NOT NULL, looks_up INTEGER NOT NULL
);
INSERT INTO "incarnations" VALUES(2,286561832,547208926,'18446744073709551615',90,'[["10.19.0.100", 19539]]',1);
INSERT INTO "incarnations" VALUES(3,1642707986,2866760183,'12601228024963555075',10,'[["10.19.0.100", 19539]]',1);
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, multicast_group INTEGER NOT NULL,
    admission INTEGER NOT NULL, request TEXT NOT NULL, owner TEXT NOT NULL DEFAULT '',
    limited INTEGER NOT NULL DEFAULT 0, first_event INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "jobs" VALUES(2,'a',2,2,'{"name": "a", "workers": ["w2", "w3", "w4"], "slots": 90, "codec": "thc", "ops": ["ADD32", "EXPAND8", "TABLE8", "ADD8X4", "OR", "MAX", "EXPAND16", "EXPAND8TO16", "EXPAND3TO8", "EXPAND5TO8"], "udp_port": 19540, "seed": 18446744073709551615, "quota": 5, "priority": 2, "quorum": 3, "best_effort": false, "certified": false, "lease_s": 7.5, "worker_token": "", "words": 64}','',0,6);
INSERT INTO "jobs" VALUES(3,'b',3,3,'{"name": "b", "workers": ["w1", "w2", "w3", "w4"], "slots": 10, "codec": "thc", "ops": ["ADD32", "EXPAND8", "TABLE8", "ADD8X4", "OR", "MAX", "EXPAND16", "EXPAND8TO16", "EXPAND3TO8", "EXPAND5TO8"], "udp_port": 19541, "seed": null, "quota": null, "priority": 0, "quorum": 0, "best_effort": true, "certified": false, "lease_s": 120.0, "worker_token": "", "words": 64}','blue',1,7);
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO "meta" VALUES('next_job',4);
INSERT INTO "meta" VALUES('next_admission',4);
INSERT INTO "meta" VALUES('schema',6);
INSERT INTO "meta" VALUES('members of job 2',3277345518);
INSERT INTO "meta" VALUES('members of job 3',697462968);
CREATE TABLE ranges (
    switch TEXT NOT NULL, job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    base INTEGER NOT NULL, slots INTEGER NOT NULL, shared INTEGER NOT NULL,
    PRIMARY KEY (switch, job)
);
INSERT INTO "ranges" VALUES('s0',3,90,10,1);
INSERT INTO "ranges" VALUES('s1',2,0,90,0);
INSERT INTO "ranges" VALUES('s1',3,90,10,1);
INSERT INTO "ranges" VALUES('s2',2,0,90,0);
INSERT INTO "ranges" VALUES('s2',3,90,10,1);
CREATE TABLE tenants (name TEXT PRIMARY KEY, quota TEXT NOT NULL);
INSERT INTO "tenants" VALUES('blue','{"share": 0.5, "jobs": 9, "admissions_per_minute": 60, "packets": 262144, "priority": 0}');
CREATE TABLE tickets (
    job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE, worker INTEGER NOT NULL,
    claimant TEXT NOT NULL, origin TEXT NOT NULL, description TEXT,
    PRIMARY KEY (job, worker)
);
INSERT INTO "tickets" VALUES(3,0,'p0','process 17 at w1','thc');
INSERT INTO "tickets" VALUES(3,1,'p1','process 18 at w2',NULL);
CREATE INDEX events_by_party ON events (party, number);
CREATE INDEX events_by_subject ON events (whom, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',18);
COMMIT;

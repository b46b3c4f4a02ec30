# What dpkg does with what apt decided: `dpkg-standin.pl ROOT VERB NAME…`.
# `install` reads the output of `apt-get -s`; it ends as dpkg does where a package has a path of another one.
use strict;
use warnings;
use Cwd 'realpath';

my ($place, $verb, @names) = @ARGV;
my $root = realpath($place);
my $database = "$root/var/lib/dpkg/status";

sub stanzas_of {
    my ($file) = @_;
    open(my $in, '<', $file) or return ();
    local $/ = '';
    return map { s/\n+\z/\n/r } <$in>;
}

sub field {
    my ($stanza, $name) = @_;
    return $stanza =~ /^\Q$name\E: (.*)$/m ? $1 : '';
}

sub state_of {
    my ($stanza) = @_;
    return split ' ok ', field($stanza, 'Status');
}

my %here = map { (field($_, 'Package') => $_) } stanzas_of($database);

sub set_state {
    my ($name, $want, $state) = @_;
    $here{$name} =~ s/^Status: .*$/Status: $want ok $state/m;
}

sub save {
    open(my $out, '>', $database) or die $!;
    print {$out} join("\n", map { $here{$_} } sort keys %here);
    close $out;
}

sub pins {
    my ($name, $there) = @_;
    return unless $name =~ /^nvidia-driver-pinning-/;
    (my $plain = $name) =~ tr/./-/;  # apt passes over names with dots
    my ($file, $list) = ("$root/etc/apt/preferences.d/$plain", "$root/var/lib/dpkg/info/$name.list");
    unlink $file, $list;
    return unless $there;
    system('cp', "$root/run/contents/$name/etc/apt/preferences.d/$plain", $file);
    open(my $out, '>', $list) or die $!;
    print {$out} "$file\n";
    close $out;
}

sub collision {
    my ($name) = @_;
    my %own = map { ($_ => 1) } split ' ', field($here{$name}, 'Contains');
    my %replaced = map { /^\s*(\S+)/ ? ($1 => 1) : () } split ',', field($here{$name}, 'Replaces');
    for my $other (sort keys %here) {
        next if $other eq $name or $replaced{$other};
        for my $path (split ' ', field($here{$other}, 'Contains')) {
            return " trying to overwrite '$path', which is also in package $other" if $own{$path};
        }
    }
    return;
}

sub unpack_package {
    my ($name, $stanza) = @_;
    my $before = $here{$name};
    my ($want) = defined $before ? state_of($before) : 'install';
    $stanza =~ s/^(?:Filename|Size): .*\n//mg;
    $here{$name} = $stanza =~ s/^(Package: .*\n)/$1Status: $want ok unpacked\n/r;
    my $trouble = collision($name);
    pins($name, 1) unless defined $trouble;
    return unless defined $trouble;
    if (defined $before) { $here{$name} = $before } else { delete $here{$name} }
    save();
    print STDERR "dpkg: error processing archive $name (--unpack):\n$trouble\n";
    print STDERR "E: Sub-process /usr/bin/dpkg returned an error code (1)\n";
    exit 100;
}

if ($verb eq 'install') {
    my %offered;
    for my $list (glob "'$root'/var/lib/apt/lists/*_Packages") {
        $offered{field($_, 'Package') . ' ' . field($_, 'Version')} = $_ for stanzas_of($list);
    }
    while (<STDIN>) {
        if (/^(?:Remv|Purg) ([^ :]+)/) {
            delete $here{$1};
            pins($1, 0);
        } elsif (/^Inst ([^ :]+)\S* (?:\[\S+\] )?\((\S+) /) {
            unpack_package($1, $offered{"$1 $2"} // die "$1 $2 is in no list\n");
        } elsif (/^Conf ([^ :]+)/ and $here{$1}) {
            set_state($1, (state_of($here{$1}))[0], 'installed');
        }
    }
} elsif ($verb eq 'hold' or $verb eq 'unhold') {
    my $want = $verb eq 'hold' ? 'hold' : 'install';
    for my $name (@names) {
        set_state($name, $want, (state_of($here{$name}))[1]) if $here{$name};
    }
} elsif ($verb eq 'audit') {
    print map { "$_\n" } grep { (state_of($here{$_}))[1] ne 'installed' } sort keys %here;
    exit 0;
} elsif ($verb eq 'configure') {
    set_state($_, (state_of($here{$_}))[0], 'installed') for keys %here;
}
save();
